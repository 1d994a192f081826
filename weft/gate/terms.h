// What a gate promises, and to whom: with what probability it is never wrong,
// in which direction, and what the developer is told meanwhile (Renggli et al.,
// MLSys 2019, section 3).
//
// Threads: value types and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/gate/condition.h"

namespace weft {

// What it means that a condition is neither found true nor found false.
enum class GateMode : std::uint8_t {
  kFpFree,  // the model fails: one that passes meets the condition
  kFnFree,  // it passes: one that fails does not meet the condition
};

// What the developer learns of verdicts, and so how much of a test set may
// leak.
enum class Adaptivity : std::uint8_t {
  kNone,         // nothing: they go to somebody else
  kFirstChange,  // each, and the first pass ends the life of the test set
  kFull,         // each
};

struct GateTerms {
  GateCondition condition;
  double reliability = 0.999;  // 1 - delta, in (0, 1)
  GateMode mode = GateMode::kFpFree;
  Adaptivity adaptivity = Adaptivity::kFull;
  std::int64_t steps = 32;  // verdicts that rest on one test set
  // The share of points on which successive models differ at most, as far as
  // its owner expects; 0: nothing is expected.
  double difference = 0;
  // It is no expectation that each commit is held to, but a fact.
  bool is_difference_known = false;

  bool operator==(const GateTerms&) const = default;
};

std::string_view to_string(GateMode mode);
std::string_view to_string(Adaptivity adaptivity);
// Throw Error(kInvalidArgument) with the nearest name for another one.
GateMode gate_mode(std::string_view name);
Adaptivity adaptivity_level(std::string_view name);

// ln of the probability with which one clause may be judged wrongly at one use,
// so that all clauses at all uses are judged rightly with the reliability. A
// developer who sees nothing brings models that have nothing to do with the
// test set, one for each use; so does one who has seen nothing but failures;
// one who sees each verdict has a tree of at most 2^steps models to choose
// from. A logarithm, as 2^-1000 is nearly no double any more.
double log_failure(const GateTerms& terms);

bool passes(GateMode mode, Truth truth);

}  // namespace weft
