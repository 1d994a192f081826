#include "weft/graph/builder.h"

#include "weft/graph/registry.h"
#include "weft/graph/variable.h"

namespace weft {
namespace {

// The constant of the function that has these very bytes.
std::optional<ValueId> find_constant(const Function& function,
                                     const Tensor& tensor) {
  static const OpDef& constant = op_registry().get("constant");
  for (const Node& node : function.nodes()) {
    if (node.op != &constant) continue;
    const auto& value = node.attributes.get<Tensor>("value");
    if (value.raw() == tensor.raw() && value.type() == tensor.type()) {
      return node.outputs[0];
    }
  }
  return std::nullopt;
}

}  // namespace

Value FunctionBuilder::parameter(const TensorType& type, std::string name) {
  // Captured values are the last parameters, since what they are is known only
  // when the body has been built.
  WEFT_CHECK(captures_.empty(), "@{} has captured values already",
             function_.name());
  return {*this, function_.add_parameter(type, std::move(name))};
}

Value FunctionBuilder::constant(const Tensor& tensor) {
  static const OpDef& op = op_registry().get("constant");
  const Node& node =
      function_.add_node(op, {}, Attributes{{"value", tensor}}, Location());
  return {*this, node.outputs[0]};
}

Program& FunctionBuilder::program() const {
  if (program_ == nullptr) {
    throw Error(ErrorCode::kInvalidArgument, "graph",
                "@{} stands alone, so it can have no branches, loops or calls",
                function_.name())
        .hint("build it in a Program (graph/program.h)");
  }
  return *program_;
}

ValueId FunctionBuilder::id_of(const Value& value) {
  if (!value.is_defined()) {
    throw Error(ErrorCode::kInvalidArgument, "graph",
                "an undefined value was used in @{}", function_.name());
  }
  // The builder that gave the number its meaning is gone: the same number may
  // mean something here.
  if (value.is_closed()) {
    throw Error(ErrorCode::kInvalidArgument, "graph",
                "a value of @{} was used in @{}, after the former was built",
                value.function_name(), function_.name())
        .hint("return it as a result");
  }
  if (value.builder() == this) return static_cast<ValueId>(value.id());
  return adopt(value);
}

ValueId FunctionBuilder::adopt(const Value& value) {
  // A number is copied into each body that uses it. A larger tensor becomes a
  // constant of the outermost function once, and branches capture it; so does a
  // number that a tape watches, which has to be one value for its gradient.
  const bool is_watched = value.id() >= 0;
  if (!value.is_staged() &&
      (enclosing_ == nullptr || (value.shape().is_scalar() && !is_watched))) {
    if (const auto known = is_watched ? find_constant(function_, value.tensor())
                                      : std::nullopt) {
      return *known;
    }
    return static_cast<ValueId>(constant(value.tensor()).id());
  }
  if (enclosing_ == nullptr) {
    throw Error(ErrorCode::kInvalidArgument, "graph",
                "a value of @{} was used in @{}",
                value.builder()->function().name(), function_.name())
        .hint("pass it as a parameter, or return it from its branch or loop");
  }
  // The function around this one may have to capture the value in turn.
  const Value outer(*enclosing_, enclosing_->id_of(value));
  // Captures are the last parameters, one for each in their order.
  const std::size_t own = function_.parameters().size() - captures_.size();
  for (std::size_t i = 0; i < captures_.size(); ++i) {
    // A value that is captured twice is one parameter.
    if (captures_[i].id() == outer.id()) return function_.parameters()[own + i];
  }
  captures_.push_back(outer);
  return function_.add_parameter(outer.type(), "");
}

std::vector<Value> FunctionBuilder::apply(const OpDef& op,
                                          std::span<const Value* const> inputs,
                                          const Attributes& attributes,
                                          const Location& location) {
  // Reverse mode finds a rule for every node this way. An op that lets no
  // gradient pass needs none.
  if (lower_composites_ && op.lower() != nullptr && op.gradient() == nullptr &&
      !op.has(kNoGradient)) {
    return lower(op, inputs, attributes, location);
  }
  std::vector<ValueId> ids;
  for (const Value* input : inputs) ids.push_back(id_of(*input));
  Location scoped = location;
  // A node that is copied from another function keeps the layer that it came
  // from.
  if (scoped.scope.empty()) scoped.scope = LayerScope::current();
  const Node& node = function_.add_node(op, std::move(ids), attributes, scoped);
  std::vector<Value> outputs;
  for (const ValueId id : node.outputs) outputs.emplace_back(*this, id);
  return outputs;
}

std::vector<Value> FunctionBuilder::lower(const OpDef& op,
                                          std::span<const Value* const> inputs,
                                          const Attributes& attributes,
                                          const Location& location) {
  std::vector<Value> arguments;
  std::vector<TensorType> types;
  for (const Value* input : inputs) {
    arguments.push_back({*this, id_of(*input)});
    types.push_back(arguments.back().type());
  }
  const Attributes complete = op.complete(attributes);
  try {
    op.infer_types(types, complete);  // the caller's mistakes are the op's
  } catch (Error& error) {
    if (location.is_known()) {
      error.detail("built at: " + to_string(location));
    }
    throw;
  }
  ContextScope scope(*this);
  return op.lower()(complete, arguments);
}

std::vector<Value> FunctionBuilder::inline_function(
    const Function& function, std::span<const Value> arguments) {
  WEFT_CHECK(arguments.size() == function.parameters().size());
  // Nodes stand in an order in which they can run, so operands are there when a
  // node is reached.
  std::vector<Value> values(function.value_count());
  const auto at = [&](ValueId id) -> Value& {
    return values[static_cast<std::size_t>(id)];
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    at(function.parameters()[i]) = arguments[i];
  }
  for (const Node& node : function.nodes()) {
    std::vector<const Value*> inputs;
    for (const ValueId id : node.inputs) inputs.push_back(&at(id));
    auto outputs = apply(*node.op, inputs, node.attributes, node.location);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      at(node.outputs[i]) = std::move(outputs[i]);
    }
  }
  return values;
}

std::vector<Value> FunctionBuilder::replace(NodeId node, const OpDef& op,
                                            const Attributes& attributes) {
  // The node is read first, since replacing it adds to its results.
  const std::size_t before = function_.node(node).outputs.size();
  const Node& changed = function_.replace_node(node, op, attributes);
  std::vector<Value> added;
  for (std::size_t i = before; i < changed.outputs.size(); ++i) {
    added.emplace_back(*this, changed.outputs[i]);
  }
  return added;
}

Function FunctionBuilder::build(
    const std::function<std::vector<Value>()>& body) {
  std::vector<Value> results;
  // Modes that the body reads are reported to whoever builds this function.
  outer_ = &current_context();
  {
    ContextScope scope(*this);
    results = body();
  }
  outer_ = nullptr;
  std::vector<ValueId> ids;
  for (const Value& result : results) ids.push_back(id_of(result));
  function_.set_results(std::move(ids));
  close();
  return std::move(function_);
}

void FunctionBuilder::create(const VariableRef& variable) {
  // A function that stands alone lets them be made: what they hold first is
  // stored outside of it (variable.cpp).
  if (enclosing_ != nullptr) enclosing_->create(variable);
}

Value FunctionBuilder::read(const VariableRef& variable) {
  const auto bound = variables_.find(variable);
  if (bound != variables_.end()) return bound->second;
  // What no function binds is read as it is now, and becomes a constant.
  return enclosing_ != nullptr ? enclosing_->read(variable)
                               : Value(variable->value);
}

void FunctionBuilder::assign(const VariableRef& variable, const Value& value) {
  const auto bound = variables_.find(variable);
  if (bound == variables_.end()) {
    if (enclosing_ != nullptr) {
      throw Error(ErrorCode::kInvalidArgument, "@" + function_.name(),
                  "the variable '{}' is assigned in a branch or a loop, which "
                  "compute values only",
                  variable->name)
          .hint(
              "return the value from every branch, or carry it through the "
              "loop, and assign it outside");
    }
    throw Error(ErrorCode::kInvalidArgument, "@" + function_.name(),
                "the variable '{}' is assigned, but it is no part of this "
                "function",
                variable->name)
        .hint("stage with jit, or bind the variable first");
  }
  // Nothing is stored: a later read in this function gets the new value, and
  // the caller takes the last one as a result.
  bound->second = Value(*this, id_of(value));
}

void FunctionBuilder::bind(const VariableRef& variable, const Value& value) {
  variables_.insert_or_assign(variable, value);
}

void FunctionBuilder::depend_on_layer() {
  if (outer_ != nullptr) outer_->depend_on_layer();
}

void FunctionBuilder::depend_on(const ModeReading& reading) {
  if (outer_ != nullptr) outer_->depend_on(reading);
}

// The function has been built, or never will be.
void FunctionBuilder::close() {
  // Values may outlive the builder that they came from: by this link they know,
  // and can name the function in an error.
  link_->builder = nullptr;
  variables_.clear();
}

}  // namespace weft
