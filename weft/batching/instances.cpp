#include "weft/batching/instances.h"

#include "weft/graph/batch.h"
#include "weft/graph/index_check.h"
#include "weft/graph/text.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/support/batching.h"

namespace weft {
namespace {

// Sums pass from op to op by recursion. Where it has gone this deep, a value is
// stacked instead.
constexpr int kMostDepth = 1000;

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

void check_result(const Node& node, std::size_t index, const Value& result,
                  const TensorType& expected) {
  WEFT_CHECK(result.type() == expected, "{}: batched, result {} is {}, not {}",
             node.op->name(), index, to_string(result.type()),
             to_string(expected));
}

}  // namespace

class Instances::Application : public BatchContext {
 public:
  Application(Instances& instances, const Node& node, const Call& call)
      : BatchContext(call.get(), instances.size_),
        instances_(instances),
        inputs_(node.inputs) {
    if (!instances.mask_.is_defined()) return;
    if (const auto operand = index_operand(call.get())) index_ = operand->input;
  }

  bool is_batched(std::size_t input) const override {
    return instances_.form_.depends(inputs_[input]);
  }
  Value x(std::size_t input) const override {
    const Value& value = instances_.stacked(inputs_[input]);
    if (input != index_ || !is_batched(input)) return value;
    // Where nobody looks at an instance, its index may be one that it would
    // never have come to, which checks of indices would find.
    Shape beside;
    beside.resize(value.shape().rank());
    beside[0] = instances_.size_;
    return where(reshape(instances_.mask_, beside), value, zeros_like(value));
  }
  Value sum(std::size_t input) const override {
    return instances_.summed(inputs_[input]);
  }

 private:
  Instances& instances_;
  const std::vector<ValueId>& inputs_;
  std::optional<std::size_t> index_;  // the operand that holds indices
};

const Value& Instances::stacked(ValueId id) {
  if (!at(stacked_, id).is_defined()) emit_up_to(function_.value(id).node);
  return at(stacked_, id);
}

const Value& Instances::summed(ValueId id) {
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

// It does not recurse, which a long chain of ops would take too deep. Operands
// come from earlier nodes, so the set grows ahead of the loop that reads it.
void Instances::emit_up_to(NodeId last) {
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

void Instances::emit(const Node& node) {
  std::vector<Value> outputs;
  if (control_ && node.op->has(kControl)) {
    outputs = control_(*this, node);
    // An op of shared values alone is computed once, as it stands.
  } else if (form_.depends(node.outputs[0])) {
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

std::vector<Value> Instances::apply_rule(const Node& node) {
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
bool Instances::fold_sum(ValueId id) {
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

}  // namespace weft
