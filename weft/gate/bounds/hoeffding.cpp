// Hoeffding's inequality for each variable, with an equal share of the
// tolerance and of the risk: N = (sum |c|)^2 ln(k / delta) / (2 epsilon^2).
#include "weft/gate/bound.h"

namespace weft {
namespace {

std::optional<BoundAnswer> answer_hoeffding(const BoundQuestion& question) {
  double factors = 0;
  int variables = 0;
  for (const Decimal coefficient : question.clause.coefficients) {
    factors += std::abs(coefficient.value());
    variables += !coefficient.is_zero();
  }
  const double tolerance = question.clause.tolerance.value() / factors;
  const auto points =
      whole_points((std::log(variables) - question.log_failure) /
                   (2 * tolerance * tolerance));
  if (!points) return std::nullopt;
  return BoundAnswer{.bound = "hoeffding",
                     .points = *points,
                     .why = "it holds for any models"};
}

}  // namespace

void register_gate_bound_hoeffding(GateBoundRegistry& bounds) {
  bounds.add({.name = "hoeffding",
              .summary = "any clause, whatever the models do",
              .answer = answer_hoeffding});
}

}  // namespace weft
