#include "weft/graph/context.h"

#include <atomic>

#include "weft/graph/builder.h"

namespace weft {
namespace {

// Each thread has its own, so that one may build a function while others run
// eagerly.
thread_local Context* innermost_context = nullptr;

}  // namespace

Context& current_context() {
  // Without a scope ops run at once: eager is the default, not a mode.
  return innermost_context != nullptr ? *innermost_context : eager_context();
}

ContextScope::ContextScope(Context& context) : outer_(innermost_context) {
  innermost_context = &context;
}

ContextScope::~ContextScope() { innermost_context = outer_; }

std::vector<Value> call_all(const OpDef& op, std::span<const Value> inputs,
                            const Attributes& attributes,
                            const Location& location) {
  std::vector<const Value*> pointers;
  pointers.reserve(inputs.size());
  for (const Value& input : inputs) pointers.push_back(&input);
  return current_context().apply(op, pointers, attributes, location);
}

Value::Value(FunctionBuilder& builder, ValueId id)
    : link_(builder.link()), id_(id) {}

std::int64_t Value::fresh_id() {
  // Numbers of eager values begin where those of a function's values, which
  // count from zero, never come: both meet in one list of applications.
  static std::atomic<std::int64_t> next{std::int64_t{1} << 40};
  // Only that numbers differ matters, and not in which order threads get them.
  return next.fetch_add(1, std::memory_order_relaxed);
}

const TensorType& Value::type() const {
  if (const FunctionBuilder* in = builder()) {
    return in->function().type(static_cast<ValueId>(id_));
  }
  WEFT_CHECK(tensor_.is_defined(), "an undefined value has no type");
  return tensor_.type();
}

Value::operator bool() const {
  if (const FunctionBuilder* in = builder()) {
    Error error(ErrorCode::kInvalidArgument, "@" + in->function().name(),
                "what is built cannot depend on a value that is known only "
                "when it runs");
    const ValueInfo& value = in->function().value(static_cast<ValueId>(id_));
    // A parameter has no line that computed it.
    if (value.node >= 0 && in->function().node(value.node).location.is_known())
      error.detail("computed at: " +
                   to_string(in->function().node(value.node).location));
    throw error.hint("use cond, while_loop or where");
  }
  // As in NumPy, several elements have no one truth.
  if (tensor_.size() != 1) {
    throw Error(ErrorCode::kInvalidArgument, "value",
                "{} is neither true nor false", to_string(type()));
  }
  return tensor_.item() != 0;
}

void Value::fail_without_numbers(std::source_location where) const {
  Error error(ErrorCode::kInvalidArgument, "@" + builder()->function().name(),
              "a staged value has no numbers until its function runs");
  if (where.line() != 0) error.detail("read at: " + to_string(Location(where)));
  throw error.hint("return it from the function, and read the result");
}

void Value::fail_closed() const {
  throw Error(ErrorCode::kInvalidArgument, "@" + link_->function,
              "a value of this function was used after the function was "
              "built")
      .hint("return it as a result");
}

}  // namespace weft
