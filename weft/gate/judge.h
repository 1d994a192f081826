// Judges a model on a test set: which labels that takes, and what is true then.
//
// Threads: caller synchronises.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/gate/plan.h"

namespace weft {

// What two models say of the points of a set, in the order in which they were
// drawn. `old` is empty where there is no old model.
struct GatePredictions {
  std::vector<std::string> now;
  std::vector<std::string> old;
};

struct ClauseVerdict {
  Truth truth = Truth::kUnknown;
  std::int64_t points = 0;  // on which it was judged; 0: on none
  double estimate = 0;      // of its sum
};

struct GateVerdict {
  bool passed = false;
  std::vector<ClauseVerdict> clauses;
};

class GateJudge {
 public:
  // All must outlive it. Throws Error(kInvalidArgument) for a condition of o or
  // d where there is no old model, and Error(kUnavailable) for fewer points
  // than are planned.
  GateJudge(const GateTerms& terms, const GatePlan& plan,
            const GatePredictions& predictions);

  // The points whose labels decide, by their place in the set: where models
  // agree, a label is of no use to clauses of n - o; and none is, where a
  // clause is false that needs none.
  std::vector<std::size_t> needed_labels() const;

  // `labels` by place; those that are needed must be there.
  GateVerdict judge(std::span<const std::optional<std::string>> labels) const;

 private:
  bool differ(std::size_t place) const {
    return predictions_.now[place] != predictions_.old[place];
  }
  std::int64_t differences(std::int64_t points) const;
  // On how many points a clause is judged; 0: it stays unknown.
  std::int64_t points_of(std::size_t clause) const;
  ClauseVerdict judge_clause(
      std::size_t clause,
      std::span<const std::optional<std::string>> labels) const;

  const GateTerms& terms_;
  const GatePlan& plan_;
  const GatePredictions& predictions_;
};

// Throws Error(kInvalidArgument) for a condition of o or d.
void check_needs_no_old_model(const GateCondition& condition);

}  // namespace weft
