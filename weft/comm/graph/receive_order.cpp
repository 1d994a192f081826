#include "weft/comm/graph/receive_order.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "weft/base/permutation.h"
#include "weft/comm/collective/calibration.h"
#include "weft/comm/collective/rooted.h"
#include "weft/place/part_transfers.h"
#include "weft/runtime/plan/step_times.h"

namespace weft {
namespace {

struct NamedOrder {
  std::string_view name;
  ReceiveOrder order;
};
constexpr NamedOrder kOrders[] = {{"none", ReceiveOrder::kNone},
                                  {"tic", ReceiveOrder::kTic},
                                  {"tac", ReceiveOrder::kTac},
                                  {"random", ReceiveOrder::kRandom},
                                  {"last_use", ReceiveOrder::kLastUse}};

// The steps of a region's plan, and what each takes here.
RegionSteps timed_steps(const Function& function, const PlanOptions& options) {
  Plan plan(function, options);
  std::vector<Tensor> arguments;
  std::vector<Tensor> results;
  for (const ValueId id : function.parameters()) {
    arguments.push_back(Tensor::zeros(function.type(id)));
  }
  for (const ValueId id : function.results()) {
    results.push_back(Tensor::empty(function.type(id)));
  }
  const std::vector<double> seconds = time_steps(plan, arguments, results);
  RegionSteps steps;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    const StepReads& reads = plan.steps()[i].reads;
    steps.push_back({.arguments = reads.arguments,
                     .predecessors = reads.predecessors,
                     .seconds = seconds[i]});
  }
  return steps;
}

PartTransfers timed_transfers(const FlatGraph& part, int rank,
                              const PlanOptions& options,
                              const Level& network) {
  std::vector<RegionSteps> steps;
  for (const Region& region : part.regions) {
    steps.push_back(timed_steps(region.function, options));
  }
  PartTransfers transfers = transfers_of(part, rank, steps);
  for (std::size_t i = 0; i < transfers.crossings.size(); ++i) {
    const int crossing = transfers.crossings[i];
    const TensorType& type =
        part.crossings[static_cast<std::size_t>(crossing)].type;
    transfers.graph.transfers[i] =
        network.latency +
        network.seconds_per_byte * static_cast<double>(type.bytes());
  }
  return transfers;
}

// The number of the first computation that reads each transfer.
std::vector<std::size_t> first_uses(const TransferGraph& graph) {
  std::vector<std::size_t> uses(graph.transfers.size(),
                                std::numeric_limits<std::size_t>::max());
  for (std::size_t c = graph.computations.size(); c-- > 0;) {
    for (const std::size_t t : graph.computations[c].transfers) uses[t] = c;
  }
  return uses;
}

// All places differ: what has the least key is first, and of equals the one
// that is read first.
std::vector<std::size_t> places_by(const std::vector<std::size_t>& keys,
                                   const std::vector<std::size_t>& uses) {
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, {}, [&](std::size_t i) { return std::pair(keys[i], uses[i]); });
  std::vector<std::size_t> places(keys.size());
  for (std::size_t place = 0; place < order.size(); ++place) {
    places[order[place]] = place;
  }
  return places;
}

std::vector<std::size_t> places_of(ReceiveOrder order,
                                   const TransferGraph& graph) {
  const std::vector<std::size_t> uses = first_uses(graph);
  if (order == ReceiveOrder::kTac) return timing_aware_order(graph);
  if (order == ReceiveOrder::kTic) {
    return places_by(timing_independent_order(graph), uses);
  }
  std::vector<std::size_t> places = places_by(uses, uses);
  for (std::size_t& place : places) place = places.size() - 1 - place;
  return places;
}

// Each rank tells the others the places of what it receives.
Task<> share(Communicator& communicator, const FlatGraph& part,
             std::vector<std::int32_t>& places) {
  for (int root = 0; root < communicator.size(); ++root) {
    std::vector<std::int32_t> told = places;
    const Channel channel =
        communicator.open({"broadcast", "places of what crosses"});
    const DenseBuffer buffer{DType::kI32,
                             std::as_writable_bytes(std::span(told)).data(),
                             told.size()};
    co_await broadcast(RootedMethod::kTree, channel, buffer, root);
    for (std::size_t i = 0; i < told.size(); ++i) {
      if (part.crossings[i].to == root) places[i] = told[i];
    }
  }
}

}  // namespace

ReceiveOrder receive_order(std::string_view name) {
  for (const NamedOrder& each : kOrders) {
    if (each.name == name) return each.order;
  }
  throw Error(ErrorCode::kInvalidArgument, "order", "no order '{}'", name)
      .hint("use none, tic, tac, random or last_use");
}

ReceivePlaces agreed_places(ReceiveOrder order, const FlatGraph& part,
                            const PlanOptions& options, const Level& network,
                            Communicator& communicator, Engine& engine) {
  ReceivePlaces result;
  if (order == ReceiveOrder::kNone) return result;
  const PartTransfers transfers =
      timed_transfers(part, communicator.rank(), options, network);
  for (const auto& computation : transfers.graph.computations) {
    result.computing += computation.seconds;
  }
  if (order == ReceiveOrder::kRandom) return result;
  const std::vector<std::size_t> own = places_of(order, transfers.graph);
  result.expected_efficiency = schedule_of(transfers.graph, own).efficiency();
  std::vector<std::int32_t> places(part.crossings.size(), 0);
  for (std::size_t i = 0; i < own.size(); ++i) {
    places[static_cast<std::size_t>(transfers.crossings[i])] =
        static_cast<std::int32_t>(own[i]);
  }
  engine.run(share(communicator, part, places));
  result.by_crossing.assign(places.begin(), places.end());
  return result;
}

std::vector<std::size_t> random_places(std::size_t crossings, int rank,
                                       std::uint32_t run) {
  // Another stream than those of batches and weights.
  constexpr std::uint32_t kStream = 0x72637672;
  const Permutation drawn(std::max<std::size_t>(crossings, 1),
                          static_cast<std::uint64_t>(rank), kStream, run);
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < crossings; ++i) {
    places.push_back(static_cast<std::size_t>(drawn(i)));
  }
  return places;
}

Level measured_network(Communicator& communicator, Engine& engine) {
  Level level;
  const Placement placement = placement_of(communicator);
  const auto measure = [](Communicator& all, const Placement& where,
                          Level& into) -> Task<> {
    into = flat_level(co_await calibrate(all, where));
  };
  engine.run(measure(communicator, placement, level));
  return level;
}

}  // namespace weft
