#include "weft/gate/judge.h"

#include <algorithm>

#include "weft/base/error.h"

namespace weft {

void check_needs_no_old_model(const GateCondition& condition) {
  for (const GateClause& clause : condition.clauses) {
    for (const GateVariable variable :
         {GateVariable::kOld, GateVariable::kDifferent}) {
      if (clause.of(variable).is_zero()) continue;
      throw Error(
          ErrorCode::kInvalidArgument, "gate",
          "there is no old model, of which '{}' of the condition speaks",
          kGateVariableNames[static_cast<std::size_t>(variable)])
          .hint("weft gate init GATE --old MODEL gives one to compare with");
    }
  }
}

GateJudge::GateJudge(const GateTerms& terms, const GatePlan& plan,
                     const GatePredictions& predictions)
    : terms_(terms), plan_(plan), predictions_(predictions) {
  if (std::ssize(predictions.now) < plan.points) {
    throw Error(ErrorCode::kUnavailable, "gate",
                "the test set has {} points, and the promise takes {}",
                predictions.now.size(), plan.points)
        .hint("weft gate size says why; a larger tolerance takes fewer");
  }
  if (predictions.old.empty()) {
    check_needs_no_old_model(terms.condition);
  } else {
    WEFT_CHECK(predictions.old.size() == predictions.now.size());
  }
}

std::int64_t GateJudge::differences(std::int64_t points) const {
  std::int64_t count = 0;
  if (predictions_.old.empty()) return count;
  for (std::int64_t i = 0; i < points; ++i) {
    count += differ(static_cast<std::size_t>(i));
  }
  return count;
}

std::int64_t GateJudge::points_of(std::size_t clause) const {
  const BoundAnswer& answer = plan_.clauses[clause];
  if (!answer.filter) return answer.points;
  const double found = static_cast<double>(differences(answer.filter->points));
  if (found <=
      answer.filter->most * static_cast<double>(answer.filter->points)) {
    return answer.points;
  }
  return answer.points_without <= std::ssize(predictions_.now)
             ? answer.points_without
             : 0;
}

std::vector<std::size_t> GateJudge::needed_labels() const {
  std::int64_t all = 0;
  std::int64_t differing = 0;
  for (std::size_t i = 0; i < terms_.condition.clauses.size(); ++i) {
    const GateClause& clause = terms_.condition.clauses[i];
    if (!clause.needs_labels()) {
      if (judge_clause(i, {}).truth == Truth::kFalse) return {};
    } else if (clause.cancels_where_models_agree()) {
      differing = std::max(differing, points_of(i));
    } else {
      all = std::max(all, points_of(i));
    }
  }
  std::vector<std::size_t> places;
  for (std::int64_t i = 0; i < std::max(all, differing); ++i) {
    const auto place = static_cast<std::size_t>(i);
    if (i < all || differ(place)) places.push_back(place);
  }
  return places;
}

ClauseVerdict GateJudge::judge_clause(
    std::size_t number,
    std::span<const std::optional<std::string>> labels) const {
  const GateClause& clause = terms_.condition.clauses[number];
  ClauseVerdict verdict;
  verdict.points = points_of(number);
  if (verdict.points == 0) return verdict;
  GateCounts counts{.points = verdict.points};
  counts.of[static_cast<std::size_t>(GateVariable::kDifferent)] =
      differences(verdict.points);
  if (clause.needs_labels()) {
    const bool only_differing = clause.cancels_where_models_agree();
    for (std::int64_t i = 0; i < verdict.points; ++i) {
      const auto place = static_cast<std::size_t>(i);
      if (only_differing && !differ(place)) continue;
      WEFT_CHECK(labels[place].has_value());
      counts.of[static_cast<std::size_t>(GateVariable::kNew)] +=
          predictions_.now[place] == *labels[place];
      counts.of[static_cast<std::size_t>(GateVariable::kOld)] +=
          !predictions_.old.empty() &&
          predictions_.old[place] == *labels[place];
    }
  }
  verdict.truth = truth_of(clause, counts);
  for (std::size_t i = 0; i < kGateVariables; ++i) {
    verdict.estimate += clause.coefficients[i].value() *
                        static_cast<double>(counts.of[i]) /
                        static_cast<double>(counts.points);
  }
  return verdict;
}

GateVerdict GateJudge::judge(
    std::span<const std::optional<std::string>> labels) const {
  GateVerdict verdict;
  Truth truth = Truth::kTrue;
  // Those without labels come first: where one is false, there may be none.
  for (const bool with_labels : {false, true}) {
    for (std::size_t i = 0; i < terms_.condition.clauses.size(); ++i) {
      if (terms_.condition.clauses[i].needs_labels() != with_labels) continue;
      verdict.clauses.resize(terms_.condition.clauses.size());
      if (with_labels && truth == Truth::kFalse) continue;
      verdict.clauses[i] = judge_clause(i, labels);
      truth = std::min(truth, verdict.clauses[i].truth);
    }
  }
  verdict.passed = passes(terms_.mode, truth);
  return verdict;
}

}  // namespace weft
