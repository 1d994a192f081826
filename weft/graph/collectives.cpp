#include "weft/graph/collectives.h"

#include <algorithm>
#include <numeric>

namespace weft {
namespace {

// Ranks may be threads of one process, each with its own network.
thread_local Collectives* innermost_collectives = nullptr;

}  // namespace

RankGroups RankGroups::whole(int ranks) {
  RankGroups groups{Integers(static_cast<std::size_t>(ranks)), ranks};
  std::iota(groups.ranks.begin(), groups.ranks.end(), 0);
  return groups;
}

RankGroups RankGroups::of(const Attributes& attributes) {
  return {attributes.integers("groups"), attributes.integer("group_size")};
}

Attributes RankGroups::attributes() const {
  return {{"groups", ranks}, {"group_size", size}};
}

std::span<const std::int64_t> RankGroups::group(std::size_t index) const {
  // Groups lie one behind the other in one list, all of one size.
  const auto members = static_cast<std::size_t>(size);
  return std::span(ranks).subspan(index * members, members);
}

std::span<const std::int64_t> RankGroups::group_of(int rank) const {
  const auto found = std::find(ranks.begin(), ranks.end(), rank);
  if (found == ranks.end()) {
    throw Error(ErrorCode::kInvalidArgument, "collectives",
                "rank {} is in none of the groups of {} ranks", rank,
                ranks.size());
  }
  return group(static_cast<std::size_t>((found - ranks.begin()) / size));
}

std::int64_t RankGroups::position_of(int rank) const {
  const auto members = group_of(rank);
  return std::find(members.begin(), members.end(), rank) - members.begin();
}

void Collectives::throw_failure() {
  // A kernel cannot throw; it leaves the error here, and whoever ran it asks.
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

Collectives* current_collectives() { return innermost_collectives; }

CollectivesScope::CollectivesScope(Collectives& collectives)
    : outer_(innermost_collectives) {
  innermost_collectives = &collectives;
}

CollectivesScope::~CollectivesScope() { innermost_collectives = outer_; }

bool meets_other_ranks(const OpDef& op, const Attributes& attributes) {
  // A group of one meets nobody, so such a graph runs without a network.
  return op.has(kCollective) && attributes.integer("group_size") > 1;
}

void require_collectives(const OpDef& op, const Attributes& attributes) {
  const std::size_t ranks = attributes.integers("groups").size();
  if (innermost_collectives == nullptr) {
    throw Error(ErrorCode::kUnavailable, op.name(),
                "needs a network of {} ranks, and this thread has none", ranks)
        .hint("open a CollectivesScope around the run");
  }
  // A graph lists its groups rank by rank: on another number of ranks it would
  // wait for some that are not there.
  if (static_cast<std::size_t>(innermost_collectives->size()) != ranks) {
    throw Error(ErrorCode::kInvalidArgument, op.name(),
                "was made for {} ranks, but the network has {}", ranks,
                innermost_collectives->size());
  }
}

}  // namespace weft
