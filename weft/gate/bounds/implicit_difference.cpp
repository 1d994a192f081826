// n - o without a clause of d, where its owner expects the models to differ
// seldom (Renggli et al., section 4.2): d is found on points without labels, to
// a tolerance t; where d + t is at most p, Bennett's inequality has that
// variance.
//
// Three things may go wrong, each with half of the probability: d is found too
// small, the count on the few points is off, and so is Hoeffding's on the many
// that judge where the models differ more. If d is at most p, the first does no
// harm; if it is more, the second needs the first: two of them come together at
// most.
#include <numbers>

#include "weft/gate/bennett.h"
#include "weft/gate/bound.h"

namespace weft {
namespace {

// t as a share of p: a half would ask for models that are twice as near, a
// tenth for four times as many points.
constexpr double kShareOfTolerance = 0.2;

BoundAnswer answer_known(const BoundQuestion& question, std::int64_t points) {
  const double p = question.terms.difference;
  return {.bound = "implicit-difference",
          .points = points,
          // What is known is not taken for true where the points say otherwise.
          .filter = DifferenceFilter{points, p},
          .difference = p,
          .why = fmt::format("models are known to differ on {:.4g} of the "
                             "points at most",
                             p)};
}

std::optional<BoundAnswer> answer_implicit_difference(
    const BoundQuestion& question) {
  const auto gain = as_gain(question.clause);
  const double p = question.terms.difference;
  if (!gain || p <= 0 || p >= 1) return std::nullopt;
  const double rate = bennett_rate(p, gain->tolerance);
  if (question.terms.is_difference_known) {
    const auto points =
        whole_points((std::numbers::ln2 - question.log_failure) / rate);
    if (!points) return std::nullopt;
    return answer_known(question, *points);
  }
  const double log_half = question.log_failure - std::numbers::ln2;
  const double t = kShareOfTolerance * p;
  const auto points = whole_points((std::numbers::ln2 - log_half) / rate);
  const auto unlabelled = whole_points(-log_half / (2 * t * t));
  const auto otherwise =
      gate_bound_registry()
          .get("hoeffding")
          .answer({question.terms, question.clause, log_half});
  if (!points || !unlabelled || !otherwise) return std::nullopt;
  return BoundAnswer{
      .bound = "implicit-difference",
      .points = *points,
      .filter = DifferenceFilter{*unlabelled, p - t},
      .points_without = otherwise->points,
      .difference = p,
      .why = fmt::format("models are expected to differ on {:.4g} of the "
                         "points at most, which each is held to",
                         p)};
}

}  // namespace

void register_gate_bound_implicit_difference(GateBoundRegistry& bounds) {
  bounds.add({.name = "implicit-difference",
              .summary = "n - o where models are expected to differ seldom",
              .answer = answer_implicit_difference});
}

}  // namespace weft
