// A binomial tree to rank 0 and back.
#include "weft/comm/collective/all_reduce.h"
#include "weft/comm/collective/cost.h"
#include "weft/comm/collective/rooted.h"

namespace weft {
namespace {

Task<> run_tree(std::vector<Channel> channels, DenseBuffer buffer, Options) {
  const Channel& channel = channels.front();
  co_await reduce(RootedMethod::kTree, channel, buffer, 0);
  co_await broadcast(RootedMethod::kTree, channel, buffer, 0);
}

double predict_tree(const Options&, const Topology& topology, double bytes) {
  double seconds = 0;
  int vectors = 0;
  // At distance d those send whose lowest bit is d (rooted.cpp), and the root
  // adds one more vector.
  for (int d = 1; d < topology.ranks(); d *= 2) {
    ++vectors;
    seconds += exchange_cost(topology, bytes, [&](int rank) {
                 return rank % (2 * d) == d ? rank - d : -1;
               }).seconds();
  }
  // The broadcast sends the same messages the other way, and adds nothing.
  return 2 * seconds + repeated_adding(topology, vectors, bytes);
}

}  // namespace

void register_all_reduce_tree(AllReduceRegistry& registry) {
  registry.add({.name = "tree",
                .summary = "a binomial tree to rank 0 and back: 2 log2 P steps",
                .variants = only_defaults,
                .seconds = predict_tree,
                .run = run_tree});
}

}  // namespace weft
