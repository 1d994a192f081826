#include "weft/ops/support/closures.h"

namespace weft {
namespace {

// A size is bound to itself: only which symbols a type tells is asked for.
void learn_sizes(const TensorType& type, Bindings& told) {
  for (const Dim dim : type.shape) match({dim}, {dim}, told);
}

// `told`, and what the parameters add to it.
Bindings told_by_parameters(const Function& function, Bindings told) {
  // A parameter of size N + M tells M once another has told N.
  for (std::size_t before = told.size();; before = told.size()) {
    for (const ValueId id : function.parameters()) {
      learn_sizes(function.type(id), told);
    }
    if (told.size() == before) return told;
  }
}

// A function's sizes are told by its arguments. Where a body mentions another
// size of the function around it, a value there that tells it is captured.
void capture_sizes(FunctionBuilder& body, FunctionBuilder& around) {
  const Function& function = body.function();
  const auto values = static_cast<ValueId>(function.value_count());
  for (ValueId id = 0; id < values; ++id) {
    for (const Dim dim : function.type(id).shape) {
      const Bindings told = told_by_parameters(function, {});
      // Captures so far may have told it.
      if (determines(told, {dim})) continue;
      const auto candidates =
          static_cast<ValueId>(around.function().value_count());
      // The first value around that tells it will do: where the function runs,
      // all of them agree.
      for (ValueId outer = 0; outer < candidates; ++outer) {
        Bindings more = told;
        learn_sizes(around.function().type(outer), more);
        more = told_by_parameters(function, std::move(more));
        if (!determines(more, {dim})) continue;
        body.id_of({around, outer});
        break;
      }
    }
  }
}

}  // namespace

std::vector<TensorType> types_of(std::span<const Value> values) {
  std::vector<TensorType> types;
  for (const Value& value : values) types.push_back(value.type());
  return types;
}

std::size_t carried_count(const OpCall& call) {
  const std::int64_t carried = call.attributes.integer("carried");
  if (carried < 0 || carried > static_cast<std::int64_t>(call.inputs.size())) {
    throw call.error("{} operands cannot be carried", carried);
  }
  return static_cast<std::size_t>(carried);
}

void require_carried(const OpCall& call, std::span<const TensorType> results,
                     std::size_t carried) {
  // A body may return more than it carries, as a scan returns its outputs.
  if (results.size() < carried) {
    throw call.error("the body returns {} values, but {} are carried",
                     results.size(), carried);
  }
  for (std::size_t i = 0; i < carried; ++i) {
    if (results[i] == call.input(i)) continue;
    throw call.error("the carried value {} is {}, but becomes {} in the body",
                     i, to_string(call.input(i)), to_string(results[i]));
  }
}

void LoopAtOnce::require(
    const std::function<void(const OpCall&)>& check) const {
  const Attributes none;
  try {
    check({op_, types_, none});
  } catch (Error& error) {
    if (where_.is_known()) error.detail("called at: " + to_string(where_));
    throw;
  }
}

void Closures::add(const std::string& role,
                   const std::vector<TensorType>& parameters,
                   const Program::Body& body) {
  Program& program = around_.program();
  FunctionBuilder& builder = program.builder(
      program.unique_name(around_.function().name() + "." + role), &around_);
  // The functions are kept until finish(), since later ones may still add
  // captures.
  functions_.push_back(builder.build([&] {
    std::vector<Value> values;
    for (const TensorType& type : parameters) {
      values.push_back(builder.parameter(type));
    }
    // The same values, first, in the same order as in the functions before.
    for (const Value& capture : captures_) builder.id_of(capture);
    auto results = body(values);
    capture_sizes(builder, around_);
    return results;
  }));
  // Captures only grow, so each function's are a beginning of the last list.
  captures_ = builder.captures();
  capture_counts_.push_back(captures_.size());
}

std::vector<FunctionRef> Closures::finish() {
  std::vector<FunctionRef> references;
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    // What later functions captured, earlier ones are given too, unused: the op
    // has one list of operands for all of them.
    for (std::size_t c = capture_counts_[i]; c < captures_.size(); ++c) {
      functions_[i].add_parameter(captures_[c].type(), "");
    }
    references.push_back(around_.program().add(functions_[i]));
  }
  return references;
}

void Closures::append_captures(std::vector<Value>& operands) const {
  operands.insert(operands.end(), captures_.begin(), captures_.end());
}

}  // namespace weft
