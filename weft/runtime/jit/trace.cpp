#include "weft/runtime/jit/trace.h"

#include <algorithm>

namespace weft {
namespace {

// So many captured integers become a constant of the graph.
constexpr std::int64_t kMostInConstant = 16;

bool is_same(const Value& a, const Value& b) {
  if (a.is_staged() != b.is_staged()) return false;
  // A staged value has no memory yet; it is known by its place in its function.
  if (a.is_staged()) return a.builder() == b.builder() && a.id() == b.id();
  // One tensor may be captured under another shape, as a view of it.
  return a.id() == b.id() && a.tensor().raw() == b.tensor().raw() &&
         a.type() == b.type();
}

}  // namespace

Hidden Hidden::captured(const Value& value) {
  return {.kind = Kind::kCaptured, .value = value, .variable = {}, .name = ""};
}

Hidden Hidden::of(const VariableRef& variable) {
  return {.kind = Kind::kVariable,
          .value = Value(),
          .variable = variable,
          .name = variable->name};
}

Hidden Hidden::random_key() {
  return {.kind = Kind::kRandomKey,
          .value = Value(),
          .variable = {},
          .name = "random_key"};
}

bool Dependencies::hold() const {
  return (!layer || *layer == LayerScope::current()) &&
         std::all_of(
             modes.begin(), modes.end(),
             [](const ModeReading& reading) { return reading.still_holds(); });
}

VariableRef Hidden::living(const std::string& function) const {
  // A graph does not keep the variables alive that it uses: they belong to the
  // program.
  VariableRef found = variable.lock();
  if (found == nullptr) {
    throw Error(ErrorCode::kInvalidArgument, "@" + function,
                "the variable '{}' that it uses does not exist any more", name)
        .hint("keep the variable alive as long as the function");
  }
  return found;
}

Value Hidden::current(const std::string& function) const {
  if (kind == Kind::kCaptured) return value;
  if (kind == Kind::kRandomKey) return RandomKeyScope::current();
  Value found = current_context().read(living(function));
  if (!found.is_defined()) {
    throw Error(ErrorCode::kInvalidArgument, "@" + function,
                "the variable '{}' that it uses has no value", name)
        .hint(
            "assign one first; one that a running function assigns has "
            "none until it returns");
  }
  return found;
}

std::vector<Value> Trace::apply(const OpDef& op,
                                std::span<const Value* const> inputs,
                                const Attributes& attributes,
                                const Location& location) {
  // A composite without a gradient rule is lowered where a tape inside of the
  // trace may differentiate it. Else it stays one node, which keeps the graph
  // small and its kernel usable.
  set_lower_composites(Tape::innermost() != outer_tape_);
  return FunctionBuilder::apply(op, inputs, attributes, location);
}

void Trace::create(const VariableRef& variable) {
  if (!may_create_) {
    throw Error(ErrorCode::kInvalidArgument, "@" + function().name(),
                "makes the variable '{}', but it may do so only the first "
                "time it is called",
                variable->name)
        .hint(
            "keep the variable outside of the function, or make it only if "
            "it is not there yet");
  }
  has_created_variables_ = true;
}

Value Trace::read(const VariableRef& variable) {
  // A variable that is read twice is one parameter, and what was assigned to it
  // in between is read back.
  for (const Hidden& hidden : hidden_) {
    if (hidden.is_variable() && hidden.variable.lock() == variable) {
      return FunctionBuilder::read(variable);
    }
  }
  Value parameter = add_hidden(variable->type, Hidden::of(variable));
  bind(variable, parameter);
  return parameter;
}

void Trace::assign(const VariableRef& variable, const Value& value) {
  read(variable);  // so that it is bound
  FunctionBuilder::assign(variable, value);
  for (Hidden& hidden : hidden_) {
    if (hidden.is_variable() && hidden.variable.lock() == variable) {
      // The function then returns the last value besides its results.
      hidden.is_assigned = true;
    }
  }
}

void Trace::expect(const std::vector<Hidden>& hidden) {
  for (const Hidden& each : hidden) {
    switch (each.kind) {
      case Hidden::Kind::kCaptured:
        adopt(each.value);
        break;
      case Hidden::Kind::kVariable:
        read(each.variable.lock());
        break;
      case Hidden::Kind::kRandomKey:
        random_key();
        break;
    }
  }
}

std::vector<Value> Trace::assigned_values() {
  std::vector<Value> values;
  for (const Hidden& hidden : hidden_) {
    if (!hidden.is_assigned) continue;
    // Bound variables live as long as the trace is open.
    values.push_back(FunctionBuilder::read(hidden.variable.lock()));
  }
  return values;
}

ValueId Trace::adopt(const Value& value) {
  // No gradient reaches an integer, so one that was captured is as good as a
  // constant; and a number in a recursion, or a few that index something, are
  // no other tensor in each trace.
  if (!value.is_staged() && !is_floating(value.dtype()) &&
      value.tensor().size() <= kMostInConstant) {
    return static_cast<ValueId>(constant(value.tensor()).id());
  }
  for (std::size_t i = 0; i < hidden_.size(); ++i) {
    if (hidden_[i].kind == Hidden::Kind::kCaptured &&
        is_same(hidden_[i].value, value)) {
      return static_cast<ValueId>(parameters_[i].id());
    }
  }
  return static_cast<ValueId>(
      add_hidden(value.type(), Hidden::captured(value)).id());
}

void Trace::depend_on(const ModeReading& reading) {
  auto& modes = dependencies_.modes;
  if (std::find(modes.begin(), modes.end(), reading) == modes.end()) {
    modes.push_back(reading);
  }
}

Value Trace::random_key() {
  for (std::size_t i = 0; i < hidden_.size(); ++i) {
    if (hidden_[i].kind == Hidden::Kind::kRandomKey) return parameters_[i];
  }
  return add_hidden(RandomKeyScope::type(), Hidden::random_key());
}

Value Trace::add_hidden(const TensorType& type, Hidden hidden) {
  parameters_.push_back(parameter(type, free_name(hidden.name)));
  hidden_.push_back(std::move(hidden));
  return parameters_.back();
}

// Names of parameters are unique, those of variables need not be.
std::string Trace::free_name(const std::string& name) const {
  const auto is_taken = [&](const std::string& candidate) {
    return std::any_of(
        function().parameters().begin(), function().parameters().end(),
        [&](ValueId id) { return function().value(id).name == candidate; });
  };
  std::string free = name;
  for (int i = 2; !name.empty() && is_taken(free); ++i) {
    free = fmt::format("{}.{}", name, i);
  }
  return free;
}

}  // namespace weft
