#include "weft/gate/judge.h"

#include <algorithm>

#include "weft/base/error.h"

namespace weft {
namespace {

// Counts what two models say against what is true.
class PredictionCounter final : public GateCounter {
 public:
  PredictionCounter(const GatePredictions& predictions,
                    std::span<const std::optional<std::string>> labels)
      : predictions_(predictions), labels_(labels) {}

  bool differ(std::size_t place) const {
    return !predictions_.old.empty() &&
           predictions_.now[place] != predictions_.old[place];
  }
  std::int64_t points() const override { return std::ssize(predictions_.now); }
  std::int64_t differences(std::int64_t points) const override {
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < points; ++i) {
      count += differ(static_cast<std::size_t>(i));
    }
    return count;
  }
  GateCounts count(const GateClause& clause,
                   std::int64_t points) const override {
    GateCounts counts{.points = points};
    auto& [now, old, differing] = counts.of;
    differing = differences(points);
    if (!clause.needs_labels()) return counts;
    for (std::int64_t i = 0; i < points; ++i) {
      const auto place = static_cast<std::size_t>(i);
      if (clause.cancels_where_models_agree() && !differ(place)) continue;
      WEFT_CHECK(labels_[place].has_value());
      now += predictions_.now[place] == *labels_[place];
      old += !predictions_.old.empty() &&
             predictions_.old[place] == *labels_[place];
    }
    return counts;
  }

 private:
  const GatePredictions& predictions_;
  std::span<const std::optional<std::string>> labels_;
};

ClauseVerdict judge_clause(const GateClause& clause, std::int64_t points,
                           const GateCounter& counter) {
  ClauseVerdict verdict{.points = points};
  if (points == 0) return verdict;
  const GateCounts counts = counter.count(clause, points);
  verdict.truth = truth_of(clause, counts);
  for (std::size_t i = 0; i < kGateVariables; ++i) {
    verdict.estimate += clause.coefficients[i].value() *
                        static_cast<double>(counts.of[i]) /
                        static_cast<double>(counts.points);
  }
  return verdict;
}

}  // namespace

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

std::vector<std::size_t> GateJudge::needed_labels() const {
  const PredictionCounter counter(predictions_, {});
  std::int64_t all = 0;
  std::int64_t differing = 0;
  for (std::size_t i = 0; i < terms_.condition.clauses.size(); ++i) {
    const GateClause& clause = terms_.condition.clauses[i];
    const std::int64_t points = judged_points(plan_, i, counter);
    if (!clause.needs_labels()) {
      if (judge_clause(clause, points, counter).truth == Truth::kFalse) {
        return {};
      }
    } else if (clause.cancels_where_models_agree()) {
      differing = std::max(differing, points);
    } else {
      all = std::max(all, points);
    }
  }
  std::vector<std::size_t> places;
  for (std::int64_t i = 0; i < std::max(all, differing); ++i) {
    const auto place = static_cast<std::size_t>(i);
    if (i < all || counter.differ(place)) places.push_back(place);
  }
  return places;
}

std::int64_t GateJudge::differences() const {
  const PredictionCounter counter(predictions_, {});
  return counter.differences(counter.points());
}

GateVerdict GateJudge::judge(
    std::span<const std::optional<std::string>> labels) const {
  return weft::judge(terms_, plan_, PredictionCounter(predictions_, labels));
}

std::int64_t judged_points(const GatePlan& plan, std::size_t clause,
                           const GateCounter& counter) {
  const BoundAnswer& answer = plan.clauses[clause];
  if (!answer.filter) return answer.points;
  const auto found =
      static_cast<double>(counter.differences(answer.filter->points));
  if (found <=
      answer.filter->most * static_cast<double>(answer.filter->points)) {
    return answer.points;
  }
  return answer.points_without <= counter.points() ? answer.points_without : 0;
}

GateVerdict judge(const GateTerms& terms, const GatePlan& plan,
                  const GateCounter& counter) {
  const auto& clauses = terms.condition.clauses;
  GateVerdict verdict;
  verdict.clauses.resize(clauses.size());
  Truth truth = Truth::kTrue;
  for (const bool with_labels : {false, true}) {
    for (std::size_t i = 0; i < clauses.size(); ++i) {
      if (clauses[i].needs_labels() != with_labels) continue;
      if (with_labels && truth == Truth::kFalse) continue;
      verdict.clauses[i] =
          judge_clause(clauses[i], judged_points(plan, i, counter), counter);
      truth = std::min(truth, verdict.clauses[i].truth);
    }
  }
  verdict.passed = passes(terms.mode, truth);
  return verdict;
}

}  // namespace weft
