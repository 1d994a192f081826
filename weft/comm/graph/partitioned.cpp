#include "weft/comm/graph/partitioned.h"

#include "weft/base/refusal.h"
#include "weft/place/partition.h"
#include "weft/place/rank_placer.h"

namespace weft {

Partitioned::Partitioned(const Graph& graph, std::string_view entry,
                         std::span<const TensorType> types,
                         const RankPlacement& placement,
                         Communicator& communicator, Engine& engine,
                         TaggedOptions options)
    : entry_(entry),
      types_(types.begin(), types.end()),
      placement_(placement),
      peers_(communicator, engine) {
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
  options.peers = &peers_;
  executor_.emplace(std::move(own.graph), std::move(options));
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
  // Results of other ranks stay undefined, at their places.
  std::vector<Tensor> here = executor_->run(arguments, std::move(stop));
  std::vector<Tensor> results(result_count_);
  for (std::size_t i = 0; i < here.size(); ++i) {
    results[static_cast<std::size_t>(results_[i])] = std::move(here[i]);
  }
  return results;
}

}  // namespace weft
