// A share that must be nearly one, or nearly zero, varies little where that is
// in doubt: first it is found to be within two tolerances of the threshold, and
// then Bennett's inequality has a small variance (Renggli et al., section 4.3).
//
// The first finding takes no points of its own. With v > c, a model that passes
// is found above c + epsilon; were it below c - 2 epsilon, the count would be
// off by three tolerances, of which Hoeffding's inequality speaks. Else its
// variance is at most 1 - c + 2 epsilon. A model that fails although it is
// above c has a smaller one still. Whatever the truth is, one case applies, so
// that each may fail with the whole probability.
#include "weft/gate/bennett.h"
#include "weft/gate/bound.h"

namespace weft {
namespace {

std::optional<BoundAnswer> answer_coarse_to_fine(
    const BoundQuestion& question) {
  const auto clause = as_one_variable(question.clause);
  if (!clause) return std::nullopt;
  const double room =
      clause->is_greater ? 1 - clause->threshold : clause->threshold;
  const double variance = room + 2 * clause->tolerance;
  // A clause that nothing meets has no room, and one in the middle too much.
  if (room <= 0 || variance >= 0.5) return std::nullopt;
  const double coarse = 3 * clause->tolerance;
  const double rate =
      std::min(bennett_rate(variance, clause->tolerance), 2 * coarse * coarse);
  const auto points = whole_points(-question.log_failure / rate);
  if (!points) return std::nullopt;
  return BoundAnswer{
      .bound = "coarse-to-fine",
      .points = *points,
      .why = fmt::format("a share near {} has a variance of at most {:.4g}",
                         clause->is_greater ? "one" : "zero", variance)};
}

}  // namespace

void register_gate_bound_coarse_to_fine(GateBoundRegistry& bounds) {
  bounds.add({.name = "coarse-to-fine",
              .summary = "clauses of one variable that must be near one or "
                         "near zero",
              .answer = answer_coarse_to_fine});
}

}  // namespace weft
