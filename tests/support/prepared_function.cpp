#include "tests/support/prepared_function.h"

#include <algorithm>

#include "weft/compiler/pass.h"
#include "weft/graph/collectives.h"
#include "weft/graph/text.h"

namespace weft::test {
namespace {

std::vector<TensorType> types_of(std::span<const Tensor> tensors) {
  std::vector<TensorType> types;
  for (const Tensor& tensor : tensors) types.push_back(tensor.type());
  return types;
}

Function specialized(const Function& general, const Phases& phases,
                     std::span<const TensorType> arguments) {
  FunctionRef first = reference_to(general);
  auto parameters = first.signature->parameters;
  // Arguments of later phases are not there yet; their sizes follow from these.
  parameters.resize(phases.first_argument(1));
  first.signature =
      std::make_shared<Signature>(Signature{std::move(parameters), {}});
  // Composites without a kernel must be lowered here too, as for a plan.
  return run_passes(specialize(general, bind_call(first, arguments)));
}

}  // namespace

PreparedFunction::PreparedFunction(const Function& general,
                                   const Phases& phases,
                                   std::span<const Tensor> arguments)
    : arguments_(types_of(arguments)),
      phases_(phases),
      function_(specialized(general, phases, arguments_)) {
  for (const Node& node : function_.nodes()) steps_.push_back(step_of(node));
  schedule_phases();
}

bool PreparedFunction::fits(const Phases& phases,
                            std::span<const Tensor> arguments) const {
  return phases_ == phases &&
         std::equal(arguments.begin(), arguments.end(), arguments_.begin(),
                    arguments_.end(), [](const Tensor& tensor, const auto& t) {
                      return tensor.type() == t;
                    });
}

PreparedFunction::Step PreparedFunction::step_of(const Node& node) const {
  Step step;
  step.outputs = function_.output_types(node);
  for (const TensorType& type : step.outputs) {
    if (type.shape.is_static()) continue;
    throw Error(ErrorCode::kUnsupported, "@" + function_.name(),
                "the arguments do not tell the size of {}", to_string(type))
        .detail("in: " + to_string(function_, node));
  }
  // A call is prepared when its callee is, with the types that it is given
  // then.
  if (node.op->has(kControl)) return step;
  const auto inputs = function_.input_types(node);
  step.kernel =
      choose_kernel({*node.op, inputs, node.attributes, step.outputs}).kernel;
  step.scratch = Tensor::empty(
      {DType::kU8, {static_cast<Dim>(step.kernel->scratch_bytes())}});
  step.meets_others = meets_other_ranks(*node.op, node.attributes);
  return step;
}

void PreparedFunction::schedule_phases() {
  // A node may be possible in one phase and needed only in a later one.
  const auto earliest = phases_.of_values(function_);
  std::vector<bool> is_done(function_.nodes().size(), false);
  for (std::size_t phase = 0; phase < phases_.count(); ++phase) {
    std::vector<bool> is_needed(function_.value_count(), false);
    const auto need = [&](ValueId id) {
      is_needed[static_cast<std::size_t>(id)] = true;
    };
    for (std::size_t i = phases_.first_result(phase);
         i < phases_.first_result(phase + 1); ++i) {
      need(function_.results()[i]);
    }
    std::vector<NodeId> needed;
    // The walk goes backwards from the results, so that a phase runs what it
    // needs and leaves the rest to phases that do.
    for (std::size_t n = function_.nodes().size(); n-- > 0;) {
      const Node& node = function_.nodes()[n];
      const bool is_live = std::any_of(
          node.outputs.begin(), node.outputs.end(),
          [&](auto id) { return is_needed[static_cast<std::size_t>(id)]; });
      if (!is_live || is_done[n]) continue;
      WEFT_CHECK(earliest[static_cast<std::size_t>(node.outputs[0])] <= phase,
                 "@{}: a phase needs what a later one is given",
                 function_.name());
      for (const ValueId id : node.inputs) need(id);
      is_done[n] = true;
      needed.push_back(static_cast<NodeId>(n));
    }
    schedule_.emplace_back(needed.rbegin(), needed.rend());
  }
}

std::vector<Tensor> PreparedFunction::run_kernel(
    NodeId id, std::span<const Tensor> inputs) {
  const Node& node = function_.node(id);
  Step& step = steps_[static_cast<std::size_t>(id)];
  std::vector<Tensor> outputs;
  std::vector<void*> in;
  std::vector<void*> out;
  for (const Tensor& input : inputs) in.push_back(input.raw());
  for (const TensorType& type : step.outputs) {
    outputs.push_back(Tensor::empty(type));
    out.push_back(outputs.back().raw());
  }
  if (step.meets_others) require_collectives(*node.op, node.attributes);
  step.kernel->run({in.data(), out.data(), step.scratch.raw()});
  if (step.meets_others) current_collectives()->throw_failure();
  return outputs;
}

}  // namespace weft::test
