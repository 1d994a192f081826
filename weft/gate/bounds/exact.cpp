// A clause of one variable, by the exact probabilities of counts at its
// threshold. What must never happen is that a model passes although its share
// is on the wrong side (or that it fails although it is on the right one). How
// likely that is grows with the share up to the threshold, so that it is worst
// there: no other share needs to be thought of, and one near zero or one has a
// small variance. Both modes promise one direction alone, and `>` and `<` say
// which tail that is.
#include "weft/gate/binomial.h"
#include "weft/gate/bound.h"

namespace weft {
namespace {

std::optional<BoundAnswer> answer_exact(const BoundQuestion& question) {
  const auto clause = as_one_variable(question.clause);
  if (!clause) return std::nullopt;
  const bool is_above = is_risk_above(question.terms, clause->is_greater);
  // The lower tail of a share is the upper one of its complement.
  const double share = is_above ? clause->threshold : 1 - clause->threshold;
  if (share <= 0 || share + clause->tolerance >= 1) return std::nullopt;
  const auto points =
      tries_at_share(share, clause->tolerance, question.log_failure);
  if (!points) return std::nullopt;
  return BoundAnswer{
      .bound = "exact",
      .points = *points,
      .why = fmt::format("of a share of {:.4g}, where the clause is in doubt, "
                         "each count's probability is known",
                         clause->threshold)};
}

}  // namespace

void register_gate_bound_exact(GateBoundRegistry& bounds) {
  bounds.add({.name = "exact",
              .summary = "clauses of one variable, at their threshold",
              .answer = answer_exact});
}

}  // namespace weft
