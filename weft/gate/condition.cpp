#include "weft/gate/condition.h"

#include <algorithm>
#include <fmt/core.h>

#include "weft/base/error.h"

namespace weft {
namespace {

__extension__ typedef __int128 WideSum;

// The least and the largest value of a clause's sum, as billionths.
std::pair<std::int64_t, std::int64_t> range_of_sum(const GateClause& clause) {
  std::int64_t least = 0;
  std::int64_t most = 0;
  for (const Decimal coefficient : clause.coefficients) {
    least += std::min<std::int64_t>(coefficient.billionths, 0);
    most += std::max<std::int64_t>(coefficient.billionths, 0);
  }
  return {least, most};
}

// A clause with `<` says of the negated sum what one with `>` does.
GateClause as_greater(GateClause clause) {
  if (clause.is_greater) return clause;
  for (Decimal& coefficient : clause.coefficients) coefficient = -coefficient;
  clause.threshold = -clause.threshold;
  clause.is_greater = true;
  return clause;
}

}  // namespace

std::string to_string(const GateClause& clause) {
  std::string text;
  for (std::size_t i = 0; i < kGateVariables; ++i) {
    Decimal coefficient = clause.coefficients[i];
    if (coefficient.is_zero()) continue;
    if (!text.empty()) {
      text += coefficient < Decimal() ? " - " : " + ";
      coefficient = std::max(coefficient, -coefficient);
    }
    if (coefficient != Decimal{kBillionthsOfOne}) {
      text += to_string(coefficient) + " * ";
    }
    text += kGateVariableNames[i];
  }
  return fmt::format("{} {} {} +/- {}", text, clause.is_greater ? '>' : '<',
                     to_string(clause.threshold), to_string(clause.tolerance));
}

std::string to_string(const GateCondition& condition) {
  std::string text;
  for (const GateClause& clause : condition.clauses) {
    text += (text.empty() ? "" : " /\\ ") + to_string(clause);
  }
  return text;
}

std::vector<std::string> warnings_of(const GateCondition& condition) {
  std::vector<std::string> warnings;
  for (const GateClause& each : condition.clauses) {
    const GateClause clause = as_greater(each);
    const auto [least, most] = range_of_sum(clause);
    const std::int64_t tolerance = clause.tolerance.billionths;
    if (most - tolerance <= clause.threshold.billionths) {
      warnings.push_back(
          fmt::format("'{}' is never found to be true, whatever the models do",
                      to_string(each)));
    } else if (least - tolerance > clause.threshold.billionths) {
      warnings.push_back(
          fmt::format("'{}' is true of all models", to_string(each)));
    }
  }
  return warnings;
}

Truth truth_of(const GateClause& each, const GateCounts& counts) {
  WEFT_CHECK(counts.points > 0 && counts.points <= kMostPoints);
  const GateClause clause = as_greater(each);
  // sum / points ± tolerance against the threshold, times the points.
  WideSum sum = 0;
  for (std::size_t i = 0; i < kGateVariables; ++i) {
    sum += WideSum{clause.coefficients[i].billionths} * counts.of[i];
  }
  const WideSum threshold =
      WideSum{clause.threshold.billionths} * counts.points;
  const WideSum tolerance =
      WideSum{clause.tolerance.billionths} * counts.points;
  if (sum - tolerance > threshold) return Truth::kTrue;
  if (sum + tolerance < threshold) return Truth::kFalse;
  return Truth::kUnknown;
}

}  // namespace weft
