#include "weft/batching/batch.h"

#include <algorithm>
#include <functional>
#include <set>

#include "weft/batching/instance_form.h"
#include "weft/graph/batch.h"
#include "weft/graph/builder.h"
#include "weft/graph/text.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/reduce.h"
#include "weft/ops/support/batching.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

// Sums pass from op to op by recursion. Where it has gone this deep, a value is
// stacked instead.
constexpr int kMostDepth = 1000;

// Emits the values of the batched function on demand, each at most once.
class Batcher {
 public:
  Batcher(const InstanceForm& form, FunctionBuilder& builder, Dim size)
      : form_(form),
        function_(form.function),
        builder_(builder),
        size_(size),
        // Values are numbered without gaps, so lists hold what stands for each.
        stacked_(function_.value_count()),
        summed_(function_.value_count()) {}

  void set_parameter(ValueId id, const Value& value) {
    at(stacked_, id) = value;
  }

  // The value has the batch axis if the instances differ in it.
  const Value& stacked(ValueId id) {
    if (!at(stacked_, id).is_defined()) emit_up_to(function_.value(id).node);
    return at(stacked_, id);
  }

  const Value& summed(ValueId id) {
    Value& sum = at(summed_, id);
    if (sum.is_defined()) return sum;
    ++depth_;
    // Without a rule the value is stacked and summed. What all instances share
    // counts once for each of them.
    if (depth_ > kMostDepth || !fold_sum(id)) {
      const Value& value = stacked(id);
      sum = form_.depends(id) ? weft::sum(value, {0})
                              : value * element_count({size_}, value.dtype());
    }
    --depth_;
    return sum;
  }

 private:
  class Application;

  static Value& at(std::vector<Value>& values, ValueId id) {
    return values[static_cast<std::size_t>(id)];
  }

  // It does not recurse, which a long chain of ops would take too deep.
  // Operands come from earlier nodes, so the set grows ahead of the loop that
  // reads it.
  void emit_up_to(NodeId last) {
    std::set<NodeId, std::greater<>> waiting = {last};
    for (const NodeId id : waiting) {
      for (const ValueId input : function_.node(id).inputs) {
        if (!at(stacked_, input).is_defined()) {
          waiting.insert(function_.value(input).node);
        }
      }
    }
    for (auto id = waiting.rbegin(); id != waiting.rend(); ++id) {
      emit(function_.node(*id));
    }
  }

  void emit(const Node& node);
  std::vector<Value> apply_rule(const Node& node);
  bool fold_sum(ValueId id);

  const InstanceForm& form_;
  const Function& function_;
  FunctionBuilder& builder_;
  Dim size_;
  std::vector<Value> stacked_;
  std::vector<Value> summed_;
  int depth_ = 0;  // how deep summed() is
};

// A call that owns what OpCall refers to.
class Call {
 public:
  Call(const Function& function, const Node& node)
      : node_(node),
        inputs_(function.input_types(node)),
        outputs_(function.output_types(node)) {}

  OpCall get() const {
    return {*node_.op, inputs_, node_.attributes, outputs_};
  }

 private:
  const Node& node_;
  std::vector<TensorType> inputs_;
  std::vector<TensorType> outputs_;
};

class Batcher::Application : public BatchContext {
 public:
  Application(Batcher& batcher, const Node& node, const Call& call)
      : BatchContext(call.get(), batcher.size_),
        batcher_(batcher),
        inputs_(node.inputs) {}

  bool is_batched(std::size_t input) const override {
    return batcher_.form_.depends(inputs_[input]);
  }
  Value x(std::size_t input) const override {
    return batcher_.stacked(inputs_[input]);
  }
  Value sum(std::size_t input) const override {
    return batcher_.summed(inputs_[input]);
  }

 private:
  Batcher& batcher_;
  const std::vector<ValueId>& inputs_;
};

void check_result(const Node& node, std::size_t index, const Value& result,
                  const TensorType& expected) {
  WEFT_CHECK(result.type() == expected, "{}: batched, result {} is {}, not {}",
             node.op->name(), index, to_string(result.type()),
             to_string(expected));
}

void Batcher::emit(const Node& node) {
  std::vector<Value> outputs;
  // An op of shared values alone is computed once, as it stands.
  if (form_.depends(node.outputs[0])) {
    outputs = apply_rule(node);
  } else {
    std::vector<const Value*> inputs;
    for (const ValueId id : node.inputs) inputs.push_back(&at(stacked_, id));
    outputs = builder_.apply(*node.op, inputs, node.attributes, node.location);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    at(stacked_, node.outputs[i]) = std::move(outputs[i]);
  }
}

std::vector<Value> Batcher::apply_rule(const Node& node) {
  const Call call(function_, node);
  const Application application(*this, node, call);
  try {
    if (node.op->batch() == nullptr) {
      throw application.unsupported("it has no batching rule");
    }
    // Ops that the rule adds belong to the layer of the op that it is for.
    const LayerScope layer(node.location.scope);
    auto outputs = node.op->batch()(application);
    WEFT_CHECK(outputs.size() == node.outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      // A rule that is wrong would show only in numbers; its types are checked
      // here, where the op can be named.
      TensorType expected = function_.type(node.outputs[i]);
      expected.shape = with_leading(size_, expected.shape);
      check_result(node, i, outputs[i], expected);
    }
    return outputs;
  } catch (Error& error) {
    error.detail("batched: " + to_string(function_, node));
    if (node.location.is_known()) {
      error.detail("built at: " + to_string(node.location));
    }
    throw;
  }
}

// True if the op that computes a value could fold the sum over it. A value
// that is there already is cheaper to sum up than to compute in another way.
bool Batcher::fold_sum(ValueId id) {
  if (!form_.depends(id) || at(stacked_, id).is_defined()) return false;
  const Node& node = function_.node(function_.value(id).node);
  if (node.op->batch_sum() == nullptr) return false;
  const Call call(function_, node);
  auto sums = node.op->batch_sum()(Application(*this, node, call));
  // The rule exists, but not for this case.
  if (sums.empty()) return false;
  WEFT_CHECK(sums.size() == node.outputs.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    check_result(node, i, sums[i], function_.type(node.outputs[i]));
    at(summed_, node.outputs[i]) = std::move(sums[i]);
  }
  return true;
}

// Whether any dim of the function mentions this symbol.
bool mentions(const Function& function, Dim size) {
  Bindings bindings;
  // A shape that a substitution changes holds the symbol.
  bindings.bind(size, 1);
  const auto is_in = [&](const Shape& shape) {
    return substitute(shape, bindings) != shape;
  };
  for (std::size_t i = 0; i < function.value_count(); ++i) {
    if (is_in(function.type(static_cast<ValueId>(i)).shape)) return true;
  }
  for (const Node& node : function.nodes()) {
    for (const auto& [name, value] : node.attributes) {
      const auto* shape = std::get_if<Shape>(&value);
      if (shape != nullptr && is_in(*shape)) return true;
    }
  }
  return false;
}

Dim fresh_size(const Function& function) {
  // The function may have been batched before, and has a B of its own then.
  Dim size = symbol("B");
  for (int i = 1; mentions(function, size); ++i) {
    size = symbol(fmt::format("B{}", i));
  }
  return size;
}

void check_arguments(const Function& function, std::span<const bool> batched,
                     std::span<const BatchMode> modes) {
  const auto check = [&](std::size_t given, std::size_t expected,
                         std::string_view what) {
    if (given == expected) return;
    throw Error(ErrorCode::kInvalidArgument, "batch",
                "@{} has {} {}, but {} are described", function.name(),
                expected, what, given);
  };
  check(batched.size(), function.parameters().size(), "parameters");
  if (!modes.empty()) check(modes.size(), function.results().size(), "results");
  if (std::find(batched.begin(), batched.end(), true) == batched.end()) {
    throw Error(ErrorCode::kInvalidArgument, "batch",
                "no parameter of @{} is batched", function.name())
        .hint("one of them has to say how many instances there are");
  }
}

}  // namespace

Batched batch(const Function& function,
              std::span<const bool> batched_parameters,
              std::span<const BatchMode> modes) {
  check_arguments(function, batched_parameters, modes);
  // Composites without a rule become ops that have one, before anything is
  // batched.
  const InstanceForm form = instance_form(function, batched_parameters);
  const Function& instance = form.function;
  const Dim size = fresh_size(instance);
  // Nodes are recorded as the rules call them: lowering is done by
  // instance_form().
  FunctionBuilder builder(function.name() + "_batched",
                          /*lower_composites=*/false);
  Batcher batcher(form, builder, size);
  for (const ValueId id : instance.parameters()) {
    TensorType type = instance.type(id);
    if (form.depends(id)) type.shape = with_leading(size, type.shape);
    batcher.set_parameter(id, builder.parameter(type, instance.value(id).name));
  }
  const auto is_summed = [&](std::size_t result) {
    return !modes.empty() && modes[result] == BatchMode::kSum;
  };
  std::vector<bool> is_stacked;
  Function batched = builder.build([&] {
    const auto& ids = instance.results();
    std::vector<Value> results(ids.size());
    // What is stacked is emitted first, since sums can use it.
    for (const bool summed : {false, true}) {
      for (std::size_t i = 0; i < ids.size(); ++i) {
        if (is_summed(i) != summed) continue;
        results[i] = summed ? batcher.summed(ids[i]) : batcher.stacked(ids[i]);
      }
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
      is_stacked.push_back(!is_summed(i) && form.depends(ids[i]));
    }
    return results;
  });
  return {std::move(batched), size, std::move(is_stacked)};
}

}  // namespace weft
