#include "weft/graph/variable.h"

#include "weft/graph/registry.h"
#include "weft/graph/variable_type.h"

namespace weft {
namespace {

std::string title(const std::string& name) {
  return name.empty() ? "variable" : "variable '" + name + "'";
}

// A variable outlives the function that makes it, so its first value must be a
// number now.
const Tensor& first_value(const Value& initial, const std::string& name) {
  if (initial.is_staged()) {
    throw Error(ErrorCode::kInvalidArgument, title(name),
                "its first value depends on the function that is being built")
        .hint("compute it in an init_scope");
  }
  return initial.tensor();
}

}  // namespace

Variable::Variable(const TensorType& type, VariableOptions options)
    : state_(std::make_shared<VariableState>(
          VariableState{.name = std::move(options.name),
                        .type = type,
                        .is_trainable = options.is_trainable,
                        // Every read has this number, by which tapes add the
                        // gradients of all of them.
                        .id = Value::fresh_id(),
                        .value = Tensor()})) {
  // A context may refuse: a staged function makes variables in its first call
  // alone.
  current_context().create(state_);
}

Variable::Variable(const Value& initial, VariableOptions options)
    : Variable(first_value(initial, options.name).type(), options) {
  state_->value = initial.tensor();
}

Value Variable::read() const {
  Value value = current_context().read(state_);
  if (!value.is_defined()) {
    throw Error(ErrorCode::kInvalidArgument, title(name()),
                "it has no value yet")
        .hint("assign one before it is read");
  }
  return value;
}

void Variable::assign(const Value& value, const Location& where) const {
  // The type is fixed, as graphs were made for it.
  if (!may_hold(type(), value.type())) {
    Error error(ErrorCode::kInvalidArgument, title(name()),
                "{} cannot be assigned to {}", to_string(value.type()),
                to_string(type()));
    if (where.is_known()) error.detail("assigned at: " + to_string(where));
    throw error;
  }
  current_context().assign(state_, value);
}

void Variable::assign_add(const Value& value, const Location& where) const {
  // The op is called by its entry, since weft/ops stands above this folder.
  static const OpDef& op = op_registry().get("add");
  const Value now = read();
  assign(call(op, {&now, &value}, {}, where), where);
}

void Variable::assign_subtract(const Value& value,
                               const Location& where) const {
  static const OpDef& op = op_registry().get("subtract");
  const Value now = read();
  assign(call(op, {&now, &value}, {}, where), where);
}

}  // namespace weft
