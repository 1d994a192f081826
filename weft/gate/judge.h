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

// What is counted on the points of a set, from the first one on.
class GateCounter {
 public:
  virtual ~GateCounter() = default;
  // Points of the whole set.
  virtual std::int64_t points() const = 0;
  virtual std::int64_t differences(std::int64_t points) const = 0;
  // All that a clause is about; where it cancels where models agree, points on
  // which they do may be left out of both n and o.
  virtual GateCounts count(const GateClause& clause,
                           std::int64_t points) const = 0;
};

// On how many points the clause of that number is judged; 0: it stays unknown.
std::int64_t judged_points(const GatePlan& plan, std::size_t clause,
                           const GateCounter& counter);
// Clauses that need no labels come first: where one is false, none is counted.
GateVerdict judge(const GateTerms& terms, const GatePlan& plan,
                  const GateCounter& counter);

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

  // Points of the whole set on which the models differ.
  std::int64_t differences() const;

  // `labels` by place; those that are needed must be there.
  GateVerdict judge(std::span<const std::optional<std::string>> labels) const;

 private:
  const GateTerms& terms_;
  const GatePlan& plan_;
  const GatePredictions& predictions_;
};

// Throws Error(kInvalidArgument) for a condition of o or d.
void check_needs_no_old_model(const GateCondition& condition);

}  // namespace weft
