#include "weft/comm/graph/partitioned.h"

#include <algorithm>

#include "weft/base/refusal.h"
#include "weft/place/partition.h"
#include "weft/place/rank_placer.h"
#include "weft/place/transfer_order.h"

namespace weft {
namespace {

// Whether an argument may come while regions run, which wait for it where they
// read it. Whatever else reads one takes it as it is; indices are looked at
// before a region runs; and a result must not lie in memory of the next run.
std::vector<bool> may_come_late(const FlatGraph& part) {
  std::vector<bool> may(part.body(0).parameters.size(), false);
  for (std::size_t i = 0; i < may.size(); ++i) {
    const TensorType& type = part.type({part.body(0).parameters[i]});
    may[i] = is_floating(type.dtype) && !type.shape.is_scalar();
  }
  const auto is_taken = [&](Endpoint value) {
    const FlatNode& node = part.node(value.node);
    if (node.kind != FlatKind::kParameter || node.body != 0) return;
    may[static_cast<std::size_t>(node.index)] = false;
  };
  for (const Endpoint result : part.body(0).results) is_taken(result);
  for (const FlatNode& node : part.nodes) {
    if (node.kind == FlatKind::kRegion) continue;
    for (const Endpoint input : node.inputs) is_taken(input);
  }
  return may;
}

// Memory for those of other ranks that may, and undefined tensors for others.
std::vector<Tensor> rooms_of(const FlatGraph& part, int rank,
                             const TaggedOptions& options) {
  const std::vector<bool> may = may_come_late(part);
  std::vector<Tensor> rooms(may.size());
  // What is gathered from many activations is read by none of them alone.
  if (options.batching == Batching::kAlways) return rooms;
  for (const Crossing& crossing : part.crossings) {
    const auto argument = static_cast<std::size_t>(crossing.argument);
    if (crossing.to != rank || crossing.argument < 0 || !may[argument])
      continue;
    rooms[argument] = Tensor::empty(crossing.type);
  }
  return rooms;
}

}  // namespace

double Receipt::efficiency() const {
  return TransferSchedule{.makespan = seconds,
                          .total = computing + wire,
                          .bound = std::max(computing, wire)}
      .efficiency();
}

Partitioned::Partitioned(const Graph& graph, std::string_view entry,
                         std::span<const TensorType> types,
                         const RankPlacement& placement,
                         Communicator& communicator, Engine& engine,
                         TaggedOptions options, ReceiveOrder order,
                         const std::optional<Level>& network)
    : entry_(entry),
      types_(types.begin(), types.end()),
      placement_(placement),
      peers_(communicator, engine),
      order_(order) {
  if (placement.ranks != peers_.size()) {
    throw refused("@" + entry_, "its placement",
                  {fmt::format("{} ranks", peers_.size()),
                   fmt::format("it is for {}", placement.ranks), ""});
  }
  // Every rank lowers and cuts the whole graph by itself and comes to the same
  // parts. A run is named after its cuts, so ranks that differ are told.
  const FlatGraph whole = lower(graph, entry, types, placement);
  // The caller gets a place for each result of the whole, wherever that is.
  result_count_ = whole.body(0).results.size();
  std::vector<GraphPart> parts = partition(whole, placement);
  GraphPart& own = parts[static_cast<std::size_t>(peers_.rank())];
  results_ = std::move(own.results);
  rooms_ = rooms_of(own.graph, peers_.rank(), options);
  peers_.set_rooms(rooms_);
  if (order_ != ReceiveOrder::kNone) {
    network_ = network ? *network : measured_network(communicator, engine);
    places_ = agreed_places(order_, own.graph,
                            {.fuse = options.fuse,
                             .without = options.without,
                             .batch_norm = options.batch_norm},
                            network_, communicator, engine);
    peers_.set_places(places_.by_crossing);
  }
  options.peers = &peers_;
  executor_.emplace(std::move(own.graph), std::move(options));
}

Receipt Partitioned::receipt() const {
  const PeerTraffic& traffic = peers_.traffic();
  return {.values = traffic.values,
          .bytes = traffic.bytes,
          .seconds = traffic.seconds,
          .computing = places_.computing,
          .wire = static_cast<double>(traffic.values) * network_.latency +
                  traffic.bytes * network_.seconds_per_byte};
}

void Partitioned::check_arguments(std::span<const Tensor> arguments) const {
  if (arguments.size() != types_.size()) {
    throw Error(ErrorCode::kInvalidArgument, "@" + entry_,
                "takes {} arguments, not {}", types_.size(), arguments.size());
  }
  for (std::size_t i = 0; i < types_.size(); ++i) {
    const int rank = placement_.rank_of_argument(i);
    // Only what is placed here is read here; others may leave it out.
    if (rank != peers_.rank() && rank != RankPlacement::kEverywhere) continue;
    if (arguments[i].is_defined() && arguments[i].type() == types_[i]) continue;
    throw Error(ErrorCode::kInvalidArgument, "@" + entry_,
                "argument {} must be a {} on rank {}", i, to_string(types_[i]),
                peers_.rank())
        .detail(arguments[i].is_defined()
                    ? "given: " + to_string(arguments[i].type())
                    : "it is missing");
  }
}

std::vector<Tensor> Partitioned::run(std::span<const Tensor> arguments,
                                     std::stop_token stop) {
  check_arguments(arguments);
  if (order_ == ReceiveOrder::kRandom) {
    peers_.set_places(
        random_places(graph().crossings.size(), peers_.rank(), runs_++));
  }
  // Results of other ranks stay undefined, at their places.
  std::vector<Tensor> own(arguments.begin(), arguments.end());
  // Whatever the caller has given of what other ranks send does not count.
  for (const Crossing& crossing : graph().crossings) {
    if (crossing.to != peers_.rank() || crossing.argument < 0) continue;
    const auto argument = static_cast<std::size_t>(crossing.argument);
    own[argument] = rooms_[argument];
  }
  std::vector<Tensor> here = executor_->run(own, std::move(stop));
  std::vector<Tensor> results(result_count_);
  for (std::size_t i = 0; i < here.size(); ++i) {
    results[static_cast<std::size_t>(results_[i])] = std::move(here[i]);
  }
  return results;
}

}  // namespace weft
