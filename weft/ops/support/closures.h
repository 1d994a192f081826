// The functions of one control op, built from callables, and what entries of
// such ops share.
//
// Threads: as FunctionBuilder.
#pragma once

#include <functional>

#include "weft/graph/program.h"

namespace weft {

// What predicates and conditions are.
inline const TensorType kTruth{DType::kBool, {}};

std::vector<TensorType> types_of(std::span<const Value> values);

// The attribute 'carried'. Throws through call.error where there are fewer
// operands.
std::size_t carried_count(const OpCall& call);
// Throws Error(kInvalidArgument) unless the first `carried` of a body's results
// have the types of the first operands.
void require_carried(const OpCall& call, std::span<const TensorType> results,
                     std::size_t carried);

// A loop that is run at once: what bodies return is held to what inference asks
// of them where a loop becomes a node.
class LoopAtOnce {
 public:
  LoopAtOnce(const OpDef& op, std::span<const Value> carried,
             const Location& where)
      : op_(op), types_(types_of(carried)), where_(where) {}

  // Calls check(OpCall), whose inputs are what is carried. What that throws
  // says where the loop was called.
  void require(const std::function<void(const OpCall&)>& check) const;

 private:
  const OpDef& op_;
  std::vector<TensorType> types_;
  const Location& where_;
};

// All functions of one op take the same captures, since they are given the
// same operands.
class Closures {
 public:
  explicit Closures(FunctionBuilder& around) : around_(around) {}

  // Builds a function named after the one around it and `role`.
  void add(const std::string& role, const std::vector<TensorType>& parameters,
           const Program::Body& body);
  // Puts the functions into the program, in the order of add().
  std::vector<FunctionRef> finish();
  // The operands that the captures are.
  void append_captures(std::vector<Value>& operands) const;

 private:
  FunctionBuilder& around_;
  std::vector<Function> functions_;
  std::vector<std::size_t>
      capture_counts_;  // what each function had, when built
  std::vector<Value> captures_;
};

}  // namespace weft
