// A function being recorded from a callable. Whatever the callable refers to
// from outside becomes a hidden parameter after its own: tensors and values of
// the functions around it by value, variables by reference (what the function
// assigns to them comes out as hidden results).
//
// Threads: one thread at a time; the traces of a thread nest.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/graph/program.h"
#include "weft/graph/variable.h"
#include "weft/runtime/eager.h"

namespace weft {

// What a hidden parameter stands for.
struct Hidden {
  Value value;                            // of a captured value
  std::weak_ptr<VariableState> variable;  // of a variable
  bool is_variable = false;
  bool is_assigned = false;  // then its value is a hidden result
  std::string name;          // of the variable
};

class Trace : public FunctionBuilder {
 public:
  // Unless `may_create`, making a variable is an Error(kInvalidArgument).
  Trace(Program& program, std::string name, bool may_create)
      : FunctionBuilder(program, std::move(name)), may_create_(may_create) {}

  // Ops are recorded as they would run eagerly: lowered under a tape that was
  // opened inside, so that they can be differentiated.
  std::vector<Value> apply(const OpDef& op,
                           std::span<const Value* const> inputs,
                           const Attributes& attributes,
                           const Location& location) override;

  void create(const VariableRef& variable) override;
  Value read(const VariableRef& variable) override;
  void assign(const VariableRef& variable, const Value& value) override;

  bool has_created_variables() const { return has_created_variables_; }
  // In the order of the hidden parameters.
  const std::vector<Hidden>& hidden() const { return hidden_; }
  const std::vector<Value>& hidden_parameters() const { return parameters_; }
  // Makes the parameters of `hidden` now, in that order.
  void expect(const std::vector<Hidden>& hidden);
  // The last values of the assigned variables, in the order of hidden().
  std::vector<Value> assigned_values();

 protected:
  ValueId adopt(const Value& value) override;

 private:
  Value add_hidden(const TensorType& type, Hidden hidden);
  std::string free_name(const std::string& name) const;

  bool may_create_;
  bool has_created_variables_ = false;
  const Tape* outer_tape_ = Tape::innermost();
  std::vector<Hidden> hidden_;
  std::vector<Value> parameters_;  // of hidden_
};

}  // namespace weft
