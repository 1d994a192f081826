#include "weft/graph/context.h"

#include "weft/graph/builder.h"

namespace weft {
namespace {

thread_local Context* current = nullptr;

}  // namespace

Context& current_context() {
  return current != nullptr ? *current : eager_context();
}

ContextScope::ContextScope(Context& context) : outer_(current) {
  current = &context;
}

ContextScope::~ContextScope() { current = outer_; }

std::vector<Value> call_all(const OpDef& op, std::span<const Value> inputs,
                            const Attributes& attributes,
                            const Location& location) {
  std::vector<const Value*> pointers;
  pointers.reserve(inputs.size());
  for (const Value& input : inputs) pointers.push_back(&input);
  return current_context().apply(op, pointers, attributes, location);
}

const TensorType& Value::type() const {
  if (builder_ != nullptr) {
    return builder_->function().type(static_cast<ValueId>(id_));
  }
  WEFT_CHECK(tensor_.is_defined(), "an undefined value has no type");
  return tensor_.type();
}

const Tensor& Value::tensor() const {
  if (builder_ != nullptr) {
    throw Error(ErrorCode::kInvalidArgument, "value",
                "a staged value has no numbers until its function runs")
        .hint("return it from the function, and read the result");
  }
  return tensor_;
}

}  // namespace weft
