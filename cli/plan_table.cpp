#include "cli/plan_table.h"

#include <algorithm>
#include <fmt/core.h>

#include "cli/terminal.h"

#include "weft/runtime/plan/step_times.h"

namespace weft::cli {
namespace {

// The unit that says more: arithmetic for products, traffic for the rest.
std::string speed(const Cost& cost, double seconds) {
  if (seconds <= 0) return "";
  // Beyond 8 operations per byte, arithmetic rather than memory is taken for
  // the limit.
  if (cost.flops > 8 * cost.bytes) {
    return fmt::format("{:.1f} GF/s", cost.flops / seconds / 1e9);
  }
  return fmt::format("{:.1f} GB/s", cost.bytes / seconds / 1e9);
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    text += (text.empty() ? "" : ", ") + part;
  }
  return text;
}

// "onednn:gemm 9.8 us, onednn:matmul 11.2 us", the fastest first.
std::string joined(std::vector<KernelTime> times) {
  std::ranges::sort(times, {}, &KernelTime::seconds);
  std::vector<std::string> parts;
  for (const KernelTime& time : times) {
    parts.push_back(fmt::format("{} {:.1f} us", time.name, time.seconds * 1e6));
  }
  return joined(parts);
}

// What batch norm gains where it runs chunk by chunk (compiler/chunks.h).
void print_chunks(const Plan& plan) {
  std::size_t count = 0;
  double saved = 0;
  for (const StepInfo& step : plan.steps()) {
    if (step.chunk == 0) continue;
    ++count;
    saved += step.unchunked_bytes - step.cost.bytes;
  }
  if (count == 0) return;
  fmt::print("in chunks of the batch: {} steps, which move {} less\n", count,
             bytes_text(saved));
}

}  // namespace

void print_plan(Plan& plan, std::span<const Tensor> arguments,
                std::span<const Tensor> results) {
  const auto seconds = time_steps(plan, arguments, results);
  double total = 0;
  for (const double each : seconds) total += each;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    const StepInfo& step = plan.steps()[i];
    fmt::print("{}\n    kernel {}  {:.1f} us  {:.1f} %  {}\n", step.text,
               step.kernel, seconds[i] * 1e6,
               total > 0 ? 100 * seconds[i] / total : 0,
               speed(step.cost, seconds[i]));
    if (step.chunk > 0) {
      fmt::print("    chunks of {}: moves {}, its parts by themselves {}\n",
                 step.chunk, bytes_text(step.cost.bytes),
                 bytes_text(step.unchunked_bytes));
    }
    if (!step.times.empty()) {
      fmt::print("    measured: {}\n", joined(step.times));
    }
    if (!step.declined.empty()) {
      fmt::print("    declined: {}\n", joined(step.declined));
    }
  }
  const UncopiedNodes& uncopied = plan.uncopied();
  for (const std::string& text : uncopied.texts) {
    fmt::print("{}\n    a view, or computed in place\n", text);
  }
  if (uncopied.bytes > 0) {
    fmt::print("not copied: {}\n",
               bytes_text(static_cast<double>(uncopied.bytes)));
  }
  print_chunks(plan);
  fmt::print("{} steps, {:.3f} ms; arena {} ({} without reuse)\n",
             seconds.size(), total * 1e3,
             bytes_text(static_cast<double>(plan.arena_bytes())),
             bytes_text(static_cast<double>(plan.unshared_bytes())));
}

std::vector<Tensor> zero_arguments(const Function& function,
                                   std::int64_t batch) {
  std::vector<Tensor> arguments;
  for (const ValueId id : function.parameters()) {
    TensorType type = function.type(id);
    for (int axis = 0; axis < type.shape.rank(); ++axis) {
      // Nobody says how large a free dim is, so it takes the batch.
      if (is_symbolic(type.shape[axis])) {
        type.shape[axis] = std::max<std::int64_t>(batch, 1);
      }
    }
    arguments.push_back(Tensor::zeros(type));
  }
  return arguments;
}

void print_plan(const Function& function, std::int64_t batch,
                const std::vector<std::string>& without) {
  const std::vector<Tensor> arguments = zero_arguments(function, batch);
  Executable executable(function, {.without = without});
  Plan& plan = executable.plan_for(arguments);
  // A plan writes where it is told to, so its results need memory.
  std::vector<Tensor> results;
  for (const TensorType& type : plan.result_types()) {
    results.push_back(Tensor::empty(type));
  }
  print_plan(plan, arguments, results);
}

}  // namespace weft::cli
