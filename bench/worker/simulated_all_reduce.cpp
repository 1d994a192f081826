// weft-bench simulated-all-reduce --topology T --bytes N --algorithm A
// --order aware|unaware: a dense all-reduce on a simulated network, for
// comparisons with the alpha-beta model of Cho et al., "BlueConnect" (MLSys
// 2019). The algorithm "auto" is the chooser's; what it took is printed.
//
// Algorithms run as they are, on messages without payload. As in the model,
// adding is not charged and ranks have equal shares of their card. An order
// that is unaware knows nothing of machines: each hop of a ring leads to
// another one.
#include <fmt/core.h>
#include <numeric>

#include "bench/worker/options.h"
#include "bench/worker/serve.h"

#include "weft/comm/collective/chooser.h"
#include "weft/comm/transport/sim.h"

namespace weft::bench {
namespace {

std::vector<int> order_of(const Topology& topology, bool is_aware) {
  std::vector<int> order(static_cast<std::size_t>(topology.ranks()));
  std::iota(order.begin(), order.end(), 0);
  if (is_aware) return order;
  const int each = topology.levels.front().size;  // ranks of a machine
  const int machines = topology.ranks() / each;
  for (int& rank : order) rank = rank % machines * each + rank / machines;
  return order;
}

double simulate(const Topology& topology, const AllReduce& algorithm,
                std::span<const int> order, std::size_t bytes) {
  SimWorld world(topology, {.carries_payload = false,
                            .queueing = Queueing::kFair,
                            .compute_speed = 1e9});
  return world.run([&](Transport& transport) -> Task<> {
    Communicator all(transport);
    Communicator ordered = all.split(order);
    const DenseBuffer buffer{DType::kF32, nullptr, bytes / sizeof(float)};
    co_await algorithm.run(ordered, buffer);
  });
}

}  // namespace

void simulate_all_reduce(const WorkerOptions& options) {
  const Topology topology = parse_topology(options.text("topology"));
  const auto bytes = static_cast<std::size_t>(options.integer("bytes"));
  const std::string& text = options.text("algorithm");
  const AllReduce algorithm = text == "auto"
                                  ? AllReduceChooser(topology).choose(bytes)
                                  : AllReduce(text);
  const std::vector<int> order =
      order_of(topology, options.text("order") == "aware");
  const double seconds = simulate(topology, algorithm, order, bytes);
  fmt::print(
      "{}\n",
      Json{{"algorithm", algorithm.text()}, {"seconds", seconds}}.dump());
}

}  // namespace weft::bench
