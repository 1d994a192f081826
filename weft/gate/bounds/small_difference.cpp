// n - o beside a clause `d < A +/- B`: where models agree they gain nothing, so
// that the variance is at most the share on which they differ. The clause of d
// is judged by itself, without labels; where it is not false, d is below
// A + 2 B with its own share of the risk, and
// N = ln(2 / delta) / (p h(epsilon / p)) with p = A + 2 B (Renggli et al.,
// section 4.1; both sides, as the paper has it).
#include <numbers>

#include "weft/gate/bennett.h"
#include "weft/gate/bound.h"

namespace weft {
namespace {

std::optional<BoundAnswer> answer_small_difference(
    const BoundQuestion& question) {
  const auto gain = as_gain(question.clause);
  const auto bound = bounded_difference(question.terms.condition);
  if (!gain || !bound) return std::nullopt;
  const double difference = bound->threshold + 2 * bound->tolerance;
  if (difference >= 1) return std::nullopt;
  const auto points = whole_points((std::numbers::ln2 - question.log_failure) /
                                   bennett_rate(difference, gain->tolerance));
  if (!points) return std::nullopt;
  return BoundAnswer{
      .bound = "small-difference",
      .points = *points,
      .difference = difference,
      .why = fmt::format("the condition lets the models differ on {:.4g} of "
                         "the points at most",
                         difference)};
}

}  // namespace

void register_gate_bound_small_difference(GateBoundRegistry& bounds) {
  bounds.add({.name = "small-difference",
              .summary = "n - o beside a clause d < A +/- B",
              .answer = answer_small_difference});
}

}  // namespace weft
