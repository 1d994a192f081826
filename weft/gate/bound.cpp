#include "weft/gate/bound.h"

#include <algorithm>

namespace weft {

std::optional<std::int64_t> whole_points(double points) {
  const double whole = std::ceil(points);
  if (!(whole <= static_cast<double>(kMostPoints))) return std::nullopt;
  return std::max<std::int64_t>(static_cast<std::int64_t>(whole), 1);
}

std::optional<OneVariable> as_one_variable(const GateClause& clause) {
  std::optional<OneVariable> found;
  for (std::size_t i = 0; i < kGateVariables; ++i) {
    if (clause.coefficients[i].is_zero()) continue;
    if (found) return std::nullopt;
    const double factor = clause.coefficients[i].value();
    found =
        OneVariable{.variable = static_cast<GateVariable>(i),
                    .is_greater = clause.is_greater == (factor > 0),
                    .threshold = clause.threshold.value() / factor,
                    .tolerance = clause.tolerance.value() / std::abs(factor)};
  }
  return found;
}

bool is_risk_above(const GateTerms& terms, bool is_greater) {
  return is_greater == (terms.mode == GateMode::kFpFree);
}

std::optional<GainClause> as_gain(const GateClause& clause) {
  if (!clause.needs_labels() || !clause.cancels_where_models_agree() ||
      !clause.of(GateVariable::kDifferent).is_zero()) {
    return std::nullopt;
  }
  const double factor = clause.of(GateVariable::kNew).value();
  return GainClause{.is_greater = clause.is_greater == (factor > 0),
                    .threshold = clause.threshold.value() / factor,
                    .tolerance = clause.tolerance.value() / std::abs(factor)};
}

std::optional<OneVariable> bounded_difference(const GateCondition& condition) {
  std::optional<OneVariable> least;
  for (const GateClause& clause : condition.clauses) {
    const auto bound = as_one_variable(clause);
    if (!bound || bound->variable != GateVariable::kDifferent ||
        bound->is_greater || bound->threshold <= 0 || bound->threshold >= 1) {
      continue;
    }
    if (!least || bound->threshold < least->threshold) least = bound;
  }
  return least;
}

}  // namespace weft
