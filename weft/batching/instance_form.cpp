#include "weft/batching/instance_form.h"

#include "weft/batching/differing.h"
#include "weft/graph/inlining.h"

namespace weft {
namespace {

class Recorder : public FunctionBuilder {
 public:
  Recorder(std::string name, const Differing* differing)
      : FunctionBuilder(std::move(name), /*lower_composites=*/false),
        differing_(differing) {}

  Value parameter(const TensorType& type, const std::string& name,
                  bool is_batched) {
    Value value = FunctionBuilder::parameter(type, name);
    mark(value, is_batched);
    return value;
  }

  std::vector<Value> apply(const OpDef& op,
                           std::span<const Value* const> inputs,
                           const Attributes& attributes,
                           const Location& location) override {
    Flags operands;
    for (const Value* input : inputs) operands.push_back(differs(*input));
    // An op of values that all instances share needs no rule, and stays whole.
    if (has_any(operands) && op.batch() == nullptr && op.lower() != nullptr) {
      std::vector<Value> arguments;
      for (const Value* input : inputs) arguments.push_back(*input);
      const LayerScope layer(location.scope);
      const ContextScope context(*this);
      // The ops of the lowering come through here again, so nested composites
      // lower too.
      return op.lower()(op.complete(attributes), arguments);
    }
    auto outputs = FunctionBuilder::apply(op, inputs, attributes, location);
    // Ops that run functions may have results that agree although operands
    // differ, which only the analysis of the functions knows.
    const Flags results = op.has(kControl) && differing_ != nullptr
                              ? differing_->of_node(op, op.complete(attributes),
                                                    operands, outputs.size())
                              : Flags(outputs.size(), has_any(operands));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      mark(outputs[i], results[i]);
    }
    return outputs;
  }

  std::vector<bool> take_marks() {
    is_batched_.resize(function().value_count(), false);
    return std::move(is_batched_);
  }

 private:
  void mark(const Value& value, bool is_batched) {
    // Values may have been added that were never marked, such as constants:
    // those are shared.
    is_batched_.resize(function().value_count(), false);
    is_batched_[static_cast<std::size_t>(value.id())] = is_batched;
  }
  bool differs(const Value& value) const {
    const auto id = static_cast<std::size_t>(value.id());
    // A constant that is not in the graph yet is the same for all instances.
    return value.is_staged() && id < is_batched_.size() && is_batched_[id];
  }

  const Differing* differing_;
  std::vector<bool> is_batched_;  // no longer than needed: constants are not
};

}  // namespace

InstanceForm instance_form(const Function& function,
                           const std::vector<bool>& batched_parameters,
                           const Differing* differing) {
  Recorder recorder(function.name(), differing);
  std::vector<bool> is_batched;
  Function form = recorder.build([&] {
    std::vector<Value> arguments;
    for (std::size_t i = 0; i < batched_parameters.size(); ++i) {
      const ValueInfo& parameter = function.value(function.parameters()[i]);
      arguments.push_back(recorder.parameter(parameter.type, parameter.name,
                                             batched_parameters[i]));
    }
    std::vector<Value> results = inlined_results(recorder, function, arguments);
    // Inside of build() all values are there, and the function has not been
    // moved out of the recorder.
    is_batched = recorder.take_marks();
    return results;
  });
  return {std::move(form), std::move(is_batched)};
}

}  // namespace weft
