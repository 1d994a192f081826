// A tensor that keeps its identity while its value changes: a parameter, a
// running statistic, a counter.
//
// Eagerly, read() and assign() act at once. Inside a function they act in the
// order of the program: the function takes the variable's value as a hidden
// parameter, and what was assigned last comes out as a hidden result. So what
// is read is always a value of its own, which later assignments do not touch.
//
// The storage dies with the object; functions refer to it weakly.
//
//   Variable count(Tensor::scalar(0.0f));
//   count.assign_add(x);
//   const Value y = count.read() * x;
//
// Threads: caller synchronises.
#pragma once

#include <source_location>
#include <string>
#include <utility>

#include "weft/graph/context.h"

namespace weft {

struct VariableOptions {
  std::string name = "";     // in messages, graphs and files
  bool is_trainable = true;  // every tape that is open watches its reads
};

// What contexts and functions know of a variable (VariableRef, context.h).
struct VariableState {
  std::string name;
  TensorType type;
  bool is_trainable = true;
  // Names all that is read from it: gradients add up over reads.
  std::int64_t id = -1;
  Tensor value;  // undefined until it is assigned
};

class Variable {
 public:
  // It has no value yet. Throws as Context::create does.
  explicit Variable(const TensorType& type, VariableOptions options = {});
  // Starts with a value. One that depends on what a function computes is an
  // Error(kInvalidArgument): a first value is computed once, outside of it
  // (init_scope).
  explicit Variable(const Value& initial, VariableOptions options = {});
  // Another handle of a variable that exists.
  explicit Variable(VariableRef state) : state_(std::move(state)) {}
  Variable(Variable&&) = default;
  Variable& operator=(Variable&&) = default;

  const std::string& name() const { return state_->name; }
  const TensorType& type() const { return state_->type; }
  bool is_trainable() const { return state_->is_trainable; }

  // The value here and now: in a function, that of the program so far.
  // Throws Error(kInvalidArgument) if there is none.
  Value read() const;
  // Throws Error(kInvalidArgument) for a value of another type.
  void assign(const Value& value,
              const Location& where = std::source_location::current()) const;
  void assign_add(
      const Value& value,
      const Location& where = std::source_location::current()) const;
  void assign_subtract(
      const Value& value,
      const Location& where = std::source_location::current()) const;

  // What is stored now, whatever is being built. Undefined before the first
  // assignment.
  const Tensor& tensor() const { return state_->value; }
  void set_tensor(Tensor tensor) const { state_->value = std::move(tensor); }

  const VariableRef& state() const { return state_; }

 private:
  VariableRef state_;
};

// Runs `body` eagerly, whatever is being built: what it makes is made once.
template <class Body>
auto init_scope(Body&& body) {
  const ContextScope eager(eager_context());
  return std::forward<Body>(body)();
}

}  // namespace weft
