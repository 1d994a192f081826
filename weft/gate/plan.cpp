#include "weft/gate/plan.h"

#include <algorithm>
#include <cmath>

#include "weft/base/error.h"

namespace weft {
namespace {

BoundAnswer best_bound(const BoundQuestion& question) {
  const std::vector<BoundAnswer> answers =
      answers_for(question.terms, question.clause);
  const auto best = std::ranges::min_element(answers, {}, &BoundAnswer::points);
  if (best != answers.end()) return *best;
  throw Error(ErrorCode::kInvalidArgument, "gate",
              "no test set of up to {} points could judge '{}'", kMostPoints,
              to_string(question.clause))
      .hint("a larger tolerance, a lower reliability or fewer steps");
}

std::int64_t hoeffding_points(const BoundQuestion& question) {
  const auto answer = gate_bound_registry().get("hoeffding").answer(question);
  return answer ? answer->points : kMostPoints;
}

std::vector<std::string> hints_for(const GateTerms& terms,
                                   const GatePlan& plan) {
  std::vector<std::string> hints = warnings_of(terms.condition);
  const std::int64_t labels = plan.labels_a_commit.value_or(plan.labelled);
  if (labels > kPracticalLabels) {
    hints.push_back(
        fmt::format("{} labels are more than people usually make: a larger "
                    "tolerance needs fewer",
                    labels));
  }
  const bool has_gain = std::ranges::any_of(
      terms.condition.clauses,
      [](const GateClause& clause) { return as_gain(clause).has_value(); });
  const bool knows_difference = std::ranges::any_of(
      plan.clauses,
      [](const BoundAnswer& answer) { return answer.difference > 0; });
  if (has_gain && !knows_difference) {
    hints.emplace_back(
        "where models differ seldom, n - o needs far fewer labels: add a "
        "clause as d < 0.1 +/- 0.01, or say what is expected (difference = "
        "0.1)");
  }
  return hints;
}

}  // namespace

std::vector<BoundAnswer> answers_for(const GateTerms& terms,
                                     const GateClause& clause) {
  std::vector<BoundAnswer> answers;
  for (const GateBoundDef& bound : gate_bound_registry().all()) {
    if (auto answer = bound.answer({terms, clause, log_failure(terms)})) {
      answers.push_back(std::move(*answer));
    }
  }
  return answers;
}

GatePlan plan_gate(const GateTerms& terms) {
  WEFT_CHECK(!terms.condition.clauses.empty() && terms.steps > 0 &&
             terms.reliability > 0 && terms.reliability < 1);
  GatePlan plan;
  plan.labels_differences_only = true;
  double difference = 0;
  for (const GateClause& clause : terms.condition.clauses) {
    const BoundQuestion question{terms, clause, log_failure(terms)};
    const BoundAnswer answer = best_bound(question);
    plan.points = std::max(plan.points, answer.points);
    if (answer.filter) {
      plan.points = std::max(plan.points, answer.filter->points);
    }
    if (clause.needs_labels()) {
      plan.labelled = std::max(plan.labelled, answer.points);
      plan.baseline = std::max(plan.baseline, hoeffding_points(question));
      if (!clause.cancels_where_models_agree()) {
        plan.labels_differences_only = false;
      }
      difference = std::max(difference, answer.difference);
    }
    plan.points_at_best = std::max(plan.points_at_best, answer.points_without);
    plan.clauses.push_back(answer);
  }
  plan.points_at_best = std::max(plan.points_at_best, plan.points);
  if (plan.labels_differences_only && difference > 0) {
    // Shares as 0.1 are no doubles: 2188.9 is 2189, but 2189.0000001 is, too.
    plan.labels_a_commit = static_cast<std::int64_t>(
        std::ceil(difference * static_cast<double>(plan.labelled) - 1e-6));
  }
  plan.hints = hints_for(terms, plan);
  return plan;
}

}  // namespace weft
