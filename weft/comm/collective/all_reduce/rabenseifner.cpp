// Recursive halving, then recursive doubling: Rabenseifner, "Optimization of
// collective reduction operations" (2004). Far first halves with the most
// distant rank, as is classic; near first keeps large messages close.
#include "weft/comm/collective/all_reduce.h"
#include "weft/comm/collective/cost.h"
#include "weft/comm/collective/power_of_two.h"

namespace weft {
namespace {

std::vector<int> distances(int ranks, bool is_near_first) {
  std::vector<int> result;
  for (int d = 1; d < ranks; d *= 2) {
    result.insert(is_near_first ? result.end() : result.begin(), d);
  }
  return result;
}

bool is_near_first(const Options& options) {
  return option<std::string>(options, "order") == "near";
}

Task<> run_core(Channel channel, PowerOfTwo shape, DenseBuffer buffer,
                bool near_first) {
  struct Step {
    int peer;
    Interval kept;
    Interval given;
  };
  std::vector<Step> steps;
  Interval mine = buffer.all();
  const int position = shape.position_of(channel.rank());
  for (const int distance : distances(shape.core, near_first)) {
    const int digit = (position & distance) != 0 ? 1 : 0;
    // One keeps the half of its own digit and gives the other one away.
    const Parts halves = Parts::near_equal(mine, 2);
    mine = halves[digit];
    steps.push_back(
        {shape.rank_of(position ^ distance), mine, halves[1 - digit]});
    const Step& step = steps.back();
    AddStream stream;
    stream.from = step.peer;
    stream.parts = {step.kept};
    Task<> adding = receive_and_add(channel, buffer, std::move(stream));
    // The receive is open before anything is sent, and both ways are under way
    // at once.
    adding.start();
    Transfers sent(channel);
    send_part(sent, step.peer, buffer, step.given);
    co_await adding;
    co_await sent.all();
  }
  // The way back: what was given away comes back summed, smallest pieces first.
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    Transfers transfers(channel);
    receive_part(transfers, step->peer, buffer, step->given);
    send_part(transfers, step->peer, buffer, step->kept);
    co_await transfers.all();
  }
}

Task<> run_rabenseifner(std::vector<Channel> channels, DenseBuffer buffer,
                        Options options) {
  const bool near_first = is_near_first(options);
  PowerOfTwoTask inner = [near_first](Channel channel, PowerOfTwo shape,
                                      DenseBuffer all) {
    return run_core(std::move(channel), shape, all, near_first);
  };
  co_await on_power_of_two(channels.front(), buffer, std::move(inner));
}

double predict_rabenseifner(const Options& options, const Topology& topology,
                            double bytes) {
  const PowerOfTwo shape(topology.ranks());
  double seconds = 0;
  if (shape.folded > 0) {
    // Ranks beyond the power of two hand over their whole vector first.
    seconds += exchange_cost(topology, bytes, [&](int rank) {
                 return shape.position_of(rank) < 0 ? rank - 1 : -1;
               }).seconds();
  }
  double message = bytes / 2;
  for (const int distance : distances(shape.core, is_near_first(options))) {
    seconds += exchange_cost(topology, message, [&](int rank) {
                 const int position = shape.position_of(rank);
                 return position < 0 ? -1 : shape.rank_of(position ^ distance);
               }).seconds();
    message /= 2;
  }
  // The way back takes the same messages in the other order.
  return 2 * seconds;
}

}  // namespace

void register_all_reduce_rabenseifner(AllReduceRegistry& registry) {
  registry.add(
      {.name = "rabenseifner",
       .summary = "recursive halving and doubling: least bytes, 2 log2 P steps",
       .options = {{"order",
                    std::string("far"),
                    "the rank to halve with first",
                    {},
                    {"far", "near"}}},
       .variants = [](const Topology&) -> std::vector<Options> {
         return {{{"order", std::string("far")}},
                 {{"order", std::string("near")}}};
       },
       .seconds = predict_rabenseifner,
       .run = run_rabenseifner});
}

}  // namespace weft
