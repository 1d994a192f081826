// Who executes an op: the eager runtime, or the builder of a function.
//
// Threads: the current context is per thread.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "weft/graph/value.h"

namespace weft {

struct ModeReading;
struct VariableState;
using VariableRef = std::shared_ptr<VariableState>;

class Context {
 public:
  virtual ~Context() = default;

  // Throws what OpDef::infer_types() throws, with the location added. Eagerly
  // also Error(kUnsupported) if no kernel takes the call, and what running it
  // throws.
  virtual std::vector<Value> apply(const OpDef& op,
                                   std::span<const Value* const> inputs,
                                   const Attributes& attributes,
                                   const Location& location) = 0;
  // An op with one result takes this way, so that eager execution need not
  // build a vector.
  virtual Value apply_one(const OpDef& op, std::span<const Value* const> inputs,
                          const Attributes& attributes,
                          const Location& location) {
    return std::move(apply(op, inputs, attributes, location).front());
  }

  // The function that ops are added to, or null where they run at once.
  virtual FunctionBuilder* builder() { return nullptr; }

  // What variables do here (variable.h). create() is told of new ones, and
  // throws Error(kInvalidArgument) where none may be made.
  virtual void create(const VariableRef& variable) = 0;
  virtual Value read(const VariableRef& variable) = 0;
  virtual void assign(const VariableRef& variable, const Value& value) = 0;

  // What is computed now holds as long as this mode is as it was found
  // (mode.h). Where ops run at once nobody minds.
  virtual void depend_on(const ModeReading&) {}
  // Something was drawn in a stream of the layer that is being called
  // (random_stream() in nn/scope.h).
  virtual void depend_on_layer() {}
};

// The innermost ContextScope of this thread, else the eager runtime.
Context& current_context();

// weft/runtime supplies it.
Context& eager_context();

// Directs the ops of this thread to `context` while it lives.
class ContextScope {
 public:
  explicit ContextScope(Context& context);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  Context* outer_;
};

// An operand that remembers where its caller stands: operators cannot take a
// defaulted source_location, but the conversion of their arguments can.
struct Operand {
  Operand(const Value& v,  // NOLINT: implicit on purpose
          std::source_location where = std::source_location::current())
      : value(&v), location(where) {}

  const Value* value;
  std::source_location location;
};

// Runs or records `op` in the current context.
inline Value call(const OpDef& op, std::initializer_list<const Value*> inputs,
                  const Attributes& attributes, const Location& location) {
  return current_context().apply_one(op, {inputs.begin(), inputs.size()},
                                     attributes, location);
}
std::vector<Value> call_all(const OpDef& op, std::span<const Value> inputs,
                            const Attributes& attributes,
                            const Location& location);

}  // namespace weft
