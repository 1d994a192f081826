#include "weft/compiler/step_timer.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "weft/base/cpu.h"
#include "weft/base/parallel.h"
#include "weft/base/stopwatch.h"
#include "weft/compiler/part_copies.h"
#include "weft/graph/kernel_times.h"

namespace weft {
namespace {

constexpr double kSecondsPerStep = 4e-3;
constexpr std::size_t kLeastRuns = 5;
constexpr std::size_t kMostRuns = 200;
// Copies of cold operands: more than these would take longer to make than they
// are worth.
constexpr std::size_t kMostCopies = 64;

std::unique_ptr<PreparedKernel> prepare(const Function& function,
                                        const PlanStep& step) {
  if (step.loop) return std::make_unique<LoopKernel>(*step.loop);
  if (!step.copies.empty()) return copy_parts(step.copies);
  const Node& node = function.node(step.nodes.back());
  const std::vector<TensorType> inputs = function.input_types(node);
  const std::vector<TensorType> outputs = function.output_types(node);
  return choose_fastest_kernel({*node.op, inputs, node.attributes, outputs})
      .kernel;
}

// All of it is written: pages that nobody has written are one and the same,
// and lie in the cache.
Tensor filled(const TensorType& type) {
  Tensor tensor = Tensor::empty(type);
  // As indices these are zeros, which lie in every axis; as floats ordinary
  // numbers.
  std::memset(tensor.raw(), is_floating(type.dtype) ? 0x3c : 0, type.bytes());
  return tensor;
}

class Operands {
 public:
  Operands(const Function& function, const PlanStep& step,
           const std::vector<bool>& is_cold) {
    std::size_t cold_bytes = 0;
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      if (is_cold[i]) cold_bytes += function.type(step.inputs[i]).bytes();
    }
    const std::size_t cache = last_level_cache_bytes();
    // Twice the cache has been read when the first copy's turn comes again.
    copies_ = cold_bytes == 0 ? 1
                              : std::clamp<std::size_t>(
                                    2 * cache / cold_bytes + 1, 1, kMostCopies);
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      const TensorType& type = function.type(step.inputs[i]);
      std::vector<Tensor>& tensors = inputs_.emplace_back();
      for (std::size_t copy = 0; copy < (is_cold[i] ? copies_ : 1); ++copy) {
        tensors.push_back(filled(type));
      }
    }
    for (const ValueId id : step.outputs) {
      outputs_.push_back(filled(function.type(id)));
      output_addresses_.push_back(outputs_.back().raw());
    }
    input_addresses_.resize(inputs_.size());
  }

  double run(PreparedKernel& kernel, std::size_t turn) {
    if (!scratch_.is_defined()) {
      scratch_ =
          filled({DType::kU8, {static_cast<Dim>(kernel.scratch_bytes())}});
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      input_addresses_[i] = inputs_[i][turn % inputs_[i].size()].raw();
    }
    const Stopwatch watch;
    kernel.run(
        {input_addresses_.data(), output_addresses_.data(), scratch_.raw()});
    return watch.seconds();
  }

 private:
  std::size_t copies_;
  std::vector<std::vector<Tensor>> inputs_;
  std::vector<Tensor> outputs_;
  std::vector<void*> input_addresses_;
  std::vector<void*> output_addresses_;
  Tensor scratch_;
};

}  // namespace

std::string step_text(const Function& function, const PlanStep& step,
                      const std::vector<bool>& is_cold) {
  std::map<ValueId, std::size_t> numbers;
  std::string text = fmt::format("{} threads:", thread_count());
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    numbers.try_emplace(step.inputs[i], numbers.size());
    text += fmt::format(" %{} {}{}", numbers[step.inputs[i]],
                        to_string(function.type(step.inputs[i])),
                        is_cold[i] ? " cold" : "");
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
  // It stands in a line of a file, whose parts tabs separate.
  std::ranges::replace(text, '\n', ' ');
  std::ranges::replace(text, '\t', ' ');
  return text;
}

MeasuredTime time_step(const Function& function, const PlanStep& step,
                       const std::vector<bool>& is_cold) {
  const std::unique_ptr<PreparedKernel> kernel = prepare(function, step);
  Operands operands(function, step, is_cold);
  // The first run meets code and memory for the first time.
  operands.run(*kernel, 0);
  std::vector<double> times;
  const Stopwatch all;
  while (times.size() < kLeastRuns ||
         (times.size() < kMostRuns && all.seconds() < kSecondsPerStep)) {
    times.push_back(operands.run(*kernel, times.size() + 1));
  }
  std::ranges::sort(times);
  return {times[times.size() / 2], times.front()};
}

}  // namespace weft
