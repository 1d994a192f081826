// What a gate asks of a model: clauses about its accuracy, each with a
// tolerance (Renggli et al., "Continuous Integration of Machine Learning Models
// with ease.ml/ci", MLSys 2019, section 3).
//
//   condition := clause ("/\" clause)*
//   clause    := sum (">" | "<") number "+/-" number
//   sum       := product (("+" | "-") product)*
//   product   := factor ("*" factor)*         of which one has variables
//   factor    := number | "n" | "o" | "d" | "(" sum ")"
//
// n is the accuracy of the new model, o that of the old one, and d the share of
// points on which they say different things; all are in [0, 1].
//
// Threads: value types and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/gate/decimal.h"

namespace weft {

enum class GateVariable : std::uint8_t { kNew, kOld, kDifferent };
inline constexpr std::size_t kGateVariables = 3;
inline constexpr std::array<char, kGateVariables> kGateVariableNames{'n', 'o',
                                                                     'd'};

// The normal form of a clause: a sum of variables is above or below a number.
struct GateClause {
  std::array<Decimal, kGateVariables> coefficients{};
  bool is_greater = true;
  Decimal threshold;
  Decimal tolerance;  // above zero

  Decimal of(GateVariable variable) const {
    return coefficients[static_cast<std::size_t>(variable)];
  }
  // Whether points on which both models say the same add nothing: it is enough
  // to know the labels of the others.
  bool cancels_where_models_agree() const {
    return of(GateVariable::kNew) == -of(GateVariable::kOld);
  }
  bool needs_labels() const {
    return !of(GateVariable::kNew).is_zero() ||
           !of(GateVariable::kOld).is_zero();
  }
  bool operator==(const GateClause&) const = default;
};

// All of its clauses must hold.
struct GateCondition {
  std::vector<GateClause> clauses;

  bool operator==(const GateCondition&) const = default;
};

inline constexpr std::size_t kMostConditionBytes = 4096;
inline constexpr std::size_t kMostClauses = 16;

// Throws Error(kInvalidArgument) with a caret under the place for what is no
// condition, for a division, a product of variables, a clause without a
// variable or a tolerance, and a tolerance that is not above zero.
GateCondition parse_gate_condition(std::string_view text);

// The normal form, which reads back as the same: "n - 1.1 * o > 0.01 +/- 0.01".
std::string to_string(const GateClause& clause);
std::string to_string(const GateCondition& condition);

// What is odd about a condition, a sentence each: a clause that nothing can
// meet, or that everything does.
std::vector<std::string> warnings_of(const GateCondition& condition);

// In the order of Kleene's logic, where a conjunction is the least.
enum class Truth : std::uint8_t { kFalse, kUnknown, kTrue };

// What was counted on points of the test set.
struct GateCounts {
  std::int64_t points = 0;
  // Where the new model is right, where the old one is, where they differ.
  std::array<std::int64_t, kGateVariables> of{};
};

// True or false where the whole interval of the tolerance around what was
// counted is; without rounding. There must be points, at most kMostPoints.
Truth truth_of(const GateClause& clause, const GateCounts& counts);

inline constexpr std::int64_t kMostPoints = std::int64_t{1} << 40;

}  // namespace weft
