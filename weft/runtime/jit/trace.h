// A function being recorded from a callable. Whatever the callable refers to
// from outside becomes a hidden parameter after its own: tensors and values of
// the functions around it by value, variables by reference (what the function
// assigns to them comes out as hidden results), the random key around a call.
//
// Threads: one thread at a time; the traces of a thread nest.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/graph/location.h"
#include "weft/graph/mode.h"
#include "weft/graph/program.h"
#include "weft/graph/surroundings.h"
#include "weft/graph/variable.h"
#include "weft/runtime/eager.h"

namespace weft {

// What a hidden parameter stands for.
struct Hidden {
  enum class Kind {
    kCaptured,   // a value
    kVariable,   // the value that a variable has when the function is called
    kRandomKey,  // the random key around the call (graph/surroundings.h)
  };

  static Hidden captured(const Value& value);
  static Hidden of(const VariableRef& variable);
  static Hidden random_key();

  bool is_variable() const { return kind == Kind::kVariable; }
  // What it stands for where its function is called, which messages call
  // `function`. Throws Error(kInvalidArgument) if the variable died or has no
  // value, or if there is no key.
  Value current(const std::string& function) const;
  VariableRef living(const std::string& function) const;

  Kind kind;
  Value value;                            // if captured
  std::weak_ptr<VariableState> variable;  // if one is meant
  bool is_assigned = false;  // the variable's value is a hidden result
  std::string name;          // in the graph
};

// What was around a function when it was traced, and has to be for its graph to
// be good.
struct Dependencies {
  std::vector<ModeReading> modes;
  // The layer that called it, if it drew random numbers in a stream of that
  // one.
  std::optional<std::string> layer;

  bool hold() const;
  bool operator==(const Dependencies&) const = default;
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
  void depend_on(const ModeReading& reading) override;
  void depend_on_layer() override { dependencies_.layer = layer_; }

  // What random layers draw with, if no scope inside says otherwise.
  Value random_key();
  const Dependencies& dependencies() const { return dependencies_; }

  bool has_created_variables() const { return has_created_variables_; }
  // They come in the order of the hidden parameters.
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
  std::vector<Value> parameters_;              // stand for hidden_
  std::string layer_ = LayerScope::current();  // around the call
  Dependencies dependencies_;
};

}  // namespace weft
