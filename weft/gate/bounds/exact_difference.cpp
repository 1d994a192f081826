// n - o where models differ seldom, by the exact probabilities of gains at the
// threshold (trinomial.h).
//
// Beside a clause `d < A +/- B`, models that differ on less than A are those
// that matter: if a model differs on more, the condition is not met, and that
// it passes takes a wrong verdict of the clause of d, which has a share of the
// risk of its own; whatever the truth is, one of both cases applies. So neither
// A + 2 B nor both sides are needed, as the two steps of the paper do.
//
// Where a difference is only expected, it is found as for implicit-difference,
// and the same argument holds; that a model which differs more is found to do
// so is a matter of the exact lower tail.
#include <numbers>

#include "weft/gate/binomial.h"
#include "weft/gate/bound.h"
#include "weft/gate/trinomial.h"

namespace weft {
namespace {

std::optional<std::int64_t> points_of_gain(const BoundQuestion& question,
                                           double difference,
                                           double log_failure) {
  const GainClause clause = *as_gain(question.clause);
  const bool is_above = is_risk_above(question.terms, clause.is_greater);
  return tries_for_gain(is_above ? clause.threshold : -clause.threshold,
                        clause.tolerance, difference, log_failure);
}

std::string why_of(double difference) {
  return fmt::format(
      "of models that differ on {:.4g} of the points at most, "
      "each gain's probability is known",
      difference);
}

std::optional<BoundAnswer> beside_a_clause(const BoundQuestion& question) {
  const auto bound = bounded_difference(question.terms.condition);
  if (!bound) return std::nullopt;
  const auto points =
      points_of_gain(question, bound->threshold, question.log_failure);
  if (!points) return std::nullopt;
  return BoundAnswer{.bound = "exact-difference",
                     .points = *points,
                     // A commit asks for labels unless d is found above A + B.
                     .difference = bound->threshold + 2 * bound->tolerance,
                     .why = why_of(bound->threshold)};
}

std::optional<BoundAnswer> where_expected(const BoundQuestion& question) {
  auto answer =
      gate_bound_registry().get("implicit-difference").answer(question);
  if (!answer) return std::nullopt;
  const double p = question.terms.difference;
  const bool is_known = question.terms.is_difference_known;
  const double log_failure =
      question.log_failure - (is_known ? 0 : std::numbers::ln2);
  const auto points = points_of_gain(question, p, log_failure);
  if (!points) return std::nullopt;
  answer->bound = "exact-difference";
  answer->points = *points;
  answer->why = why_of(p);
  if (is_known) {
    answer->filter->points = *points;
  } else {
    const auto found =
        tries_at_share(1 - p, p - answer->filter->most, log_failure);
    if (found) answer->filter->points = *found;
  }
  return answer;
}

std::optional<BoundAnswer> answer_exact_difference(
    const BoundQuestion& question) {
  if (!as_gain(question.clause)) return std::nullopt;
  const auto beside = beside_a_clause(question);
  return beside ? beside : where_expected(question);
}

}  // namespace

void register_gate_bound_exact_difference(GateBoundRegistry& bounds) {
  bounds.add({.name = "exact-difference",
              .summary = "n - o where models differ seldom, at its threshold",
              .answer = answer_exact_difference});
}

}  // namespace weft
