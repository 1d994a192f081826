// How large a test set must be for what a gate promises, before anything is
// labelled.
//
// Threads: pure functions. Cost: up to a second where exact probabilities of
// hundreds of thousands of points are looked through.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/gate/bound.h"

namespace weft {

struct GatePlan {
  std::vector<BoundAnswer> clauses;  // as the condition has them
  // Points whose labels may be asked for; they come first in the set.
  std::int64_t labelled = 0;
  // All points of the set, those without labels included.
  std::int64_t points = 0;
  // With so many points, clauses are judged although models differ more than
  // was expected; at least `points`.
  std::int64_t points_at_best = 0;
  // What Hoeffding's inequality alone would have labelled.
  std::int64_t baseline = 0;
  // Whether labels are asked for only where models differ.
  bool labels_differences_only = false;
  // Labels that a commit asks for at most, where it is known on how many points
  // the models differ: the share of it, of what is labelled.
  std::optional<std::int64_t> labels_a_commit;
  // What the owner should know, a sentence each.
  std::vector<std::string> hints;
};

// More labels than people make for a test (Renggli et al., section 5).
inline constexpr std::int64_t kPracticalLabels = 60'000;

// What each bound that applies to a clause would take.
std::vector<BoundAnswer> answers_for(const GateTerms& terms,
                                     const GateClause& clause);

// Throws Error(kInvalidArgument) for terms that no set of kMostPoints meets.
GatePlan plan_gate(const GateTerms& terms);

}  // namespace weft
