#include "weft/compiler/step_timer.h"

#include <algorithm>
#include <map>

#include "weft/base/parallel.h"
#include "weft/base/stopwatch.h"
#include "weft/compiler/caches.h"
#include "weft/compiler/chunked_kernel.h"
#include "weft/compiler/part_copies.h"
#include "weft/compiler/stand_ins.h"
#include "weft/compiler/step_bytes.h"
#include "weft/graph/kernel_times.h"

namespace weft {
namespace {

constexpr double kSecondsPerStep = 4e-3;
constexpr std::size_t kLeastRuns = 5;
constexpr std::size_t kMostRuns = 200;

class Operands {
 public:
  Operands(const Function& function, const PlanStep& step,
           const std::vector<OperandState>& states)
      : states_(states) {
    for (const ValueId id : step.inputs) {
      add(function.type(id), inputs_, input_addresses_);
    }
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
      if (const auto updated = updated_input(function, step, i)) {
        output_addresses_.push_back(input_addresses_[*updated]);
      } else {
        add(function.type(step.outputs[i]), outputs_, output_addresses_);
      }
    }
  }

  // The kernel that a plan would run.
  std::unique_ptr<PreparedKernel> prepare(const Function& function,
                                          const PlanStep& step) const {
    if (step.loop) return std::make_unique<LoopKernel>(*step.loop);
    if (!step.copies.empty()) return copy_parts(step.copies);
    if (!step.parts.empty()) return chunked_kernel(function, step).kernel;
    const Node& node = function.node(step.nodes.back());
    const std::vector<TensorType> inputs = function.input_types(node);
    const std::vector<TensorType> outputs = function.output_types(node);
    std::vector<const Tensor*> known;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      known.push_back(states_[i].is_known ? &inputs_[i] : nullptr);
    }
    WEFT_CHECK(known.size() == inputs.size(),
               "a step of one node reads others");
    return choose_fastest_kernel(
               {*node.op, inputs, node.attributes, outputs, known})
        .kernel;
  }

  double run(PreparedKernel& kernel) {
    if (!scratch_.is_defined()) {
      scratch_ =
          stand_in({DType::kU8, {static_cast<Dim>(kernel.scratch_bytes())}});
    }
    cool();
    const Stopwatch watch;
    kernel.run(
        {input_addresses_.data(), output_addresses_.data(), scratch_.raw()});
    return watch.seconds();
  }

 private:
  static void add(const TensorType& type, std::vector<Tensor>& tensors,
                  std::vector<void*>& addresses) {
    tensors.push_back(stand_in(type));
    addresses.push_back(tensors.back().raw());
  }

  void cool() const {
    if (std::ranges::none_of(states_, &OperandState::is_cold)) return;
    const bool is_swept = must_sweep();
    if (is_swept) sweep_caches();
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!states_[i].is_cold) {
        touch(inputs_[i]);
      } else if (!is_swept) {
        evict(inputs_[i]);
      }
    }
    for (const Tensor& tensor : outputs_) touch(tensor);
    touch(scratch_);
  }

  // What a kernel has packed of a known operand lies where only a sweep reaches
  // it.
  bool must_sweep() const {
    return !can_evict() ||
           std::ranges::any_of(states_, [](const OperandState& state) {
             return state.is_cold && state.is_known;
           });
  }

  const std::vector<OperandState>& states_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
  std::vector<void*> input_addresses_;
  std::vector<void*> output_addresses_;
  Tensor scratch_;
};

}  // namespace

std::string step_text(const Function& function, const PlanStep& step,
                      const std::vector<OperandState>& states) {
  std::map<ValueId, std::size_t> numbers;
  std::string text = fmt::format("{} threads:", thread_count());
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    numbers.try_emplace(step.inputs[i], numbers.size());
    text += fmt::format(" %{} {}{}{}", numbers[step.inputs[i]],
                        to_string(function.type(step.inputs[i])),
                        states[i].is_cold ? " cold" : "",
                        states[i].is_known ? " known" : "");
  }
  for (const NodeId id : step.nodes) {
    const Node& node = function.node(id);
    text += fmt::format("; {}(", node.op->name());
    for (const ValueId input : node.inputs) {
      numbers.try_emplace(input, numbers.size());
      text += fmt::format("%{} ", numbers[input]);
    }
    text += fmt::format("){}", to_string(node.attributes));
    for (const ValueId output : node.outputs) {
      numbers.try_emplace(output, numbers.size());
      text += " " + to_string(function.type(output));
    }
  }
  for (const ValueId id : step.outputs) {
    text += fmt::format(" ->%{}", numbers[id]);
  }
  for (const PartCopy& copy : step.copies) {
    text += fmt::format(" copy {}", copy.bytes);
  }
  if (!step.parts.empty()) text += fmt::format(" by {}:", step.chunk);
  for (const PlanStep& part : step.parts) {
    text += " part";
    for (const NodeId id : part.nodes) {
      text += fmt::format(
          " {}", std::ranges::find(step.nodes, id) - step.nodes.begin());
    }
  }
  // It stands in a line of a file, whose parts tabs separate.
  std::ranges::replace(text, '\n', ' ');
  std::ranges::replace(text, '\t', ' ');
  return text;
}

MeasuredTime time_step(const Function& function, const PlanStep& step,
                       const std::vector<OperandState>& states) {
  Operands operands(function, step, states);
  const std::unique_ptr<PreparedKernel> kernel =
      operands.prepare(function, step);
  // The first run meets code and memory for the first time.
  operands.run(*kernel);
  std::vector<double> times;
  const Stopwatch all;
  while (times.size() < kLeastRuns ||
         (times.size() < kMostRuns && all.seconds() < kSecondsPerStep)) {
    times.push_back(operands.run(*kernel));
  }
  std::ranges::sort(times);
  return {times[times.size() / 2], times.front()};
}

}  // namespace weft
