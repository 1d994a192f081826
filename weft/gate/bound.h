// How many points of a test set it takes to judge a clause: bounds from
// probability theory, of which a gate takes the one that needs fewest.
//
// A new bound is one file in weft/gate/bounds.
//
// Threads: immutable; pure functions.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "weft/base/registry.h"
#include "weft/gate/terms.h"

namespace weft {

struct BoundQuestion {
  const GateTerms& terms;
  const GateClause& clause;
  // ln of the probability with which the clause may be judged wrongly.
  double log_failure;
};

// Before a clause is judged, the models must be found to differ seldom.
struct DifferenceFilter {
  std::int64_t points = 0;  // without labels
  double most = 0;          // the share of them on which they may differ

  bool operator==(const DifferenceFilter&) const = default;
};

struct BoundAnswer {
  std::string bound;  // "hoeffding"
  // Exactly so many points are judged: more of them would be others.
  std::int64_t points = 0;
  // Nothing: none is due.
  std::optional<DifferenceFilter> filter = {};
  // Points that judge the clause where the filter finds otherwise; 0: it is
  // unknown then.
  std::int64_t points_without = 0;
  // The share of points on which the models differ at most, where the bound
  // rests on that; else 0.
  double difference = 0;
  std::string why = {};  // a clause: "…, as the models differ on few points"
};

struct GateBoundDef {
  std::string name;
  std::string summary;
  // Nothing where the bound does not apply.
  std::optional<BoundAnswer> (*answer)(const BoundQuestion& question) = nullptr;
};

using GateBoundRegistry = Registry<GateBoundDef>;
// It is filled from the files of weft/gate/bounds.
const GateBoundRegistry& gate_bound_registry();

// Points as an integer; nothing beyond kMostPoints.
std::optional<std::int64_t> whole_points(double points);

// A clause of one variable as `v > threshold +/- tolerance` or `v < …`, divided
// by its factor.
struct OneVariable {
  GateVariable variable;
  bool is_greater;
  double threshold;
  double tolerance;
};
// Nothing for a clause of several variables.
std::optional<OneVariable> as_one_variable(const GateClause& clause);

// Whether what must not happen to a clause is that its sum is found too high,
// where it is at its threshold: it passes then, or fails where it must not.
bool is_risk_above(const GateTerms& terms, bool is_greater);

// A clause of the difference of accuracies, `n - o > threshold +/- tolerance`
// or with `<`; nothing for another one.
struct GainClause {
  bool is_greater;
  double threshold;
  double tolerance;
};
std::optional<GainClause> as_gain(const GateClause& clause);

// `d < most +/- tolerance` with the least `most` of the condition's clauses;
// nothing where none bounds how far models differ.
std::optional<OneVariable> bounded_difference(const GateCondition& condition);

}  // namespace weft
