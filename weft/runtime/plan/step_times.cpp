#include "weft/runtime/plan/step_times.h"

#include <algorithm>

namespace weft {
namespace {

// They are over before anybody waits.
constexpr int kRuns = 5;

std::vector<void*> addresses(std::span<const Tensor> tensors) {
  std::vector<void*> result;
  for (const Tensor& tensor : tensors) result.push_back(tensor.raw());
  return result;
}

}  // namespace

std::vector<double> time_steps(Plan& plan, std::span<const Tensor> arguments,
                               std::span<const Tensor> results) {
  const auto in = addresses(arguments);
  const auto out = addresses(results);
  const Tensor arena =
      Tensor::empty({DType::kU8, {static_cast<Dim>(plan.arena_bytes())}});
  // The first run meets the memory for the first time, which takes longer.
  plan.run(in, out, arena.raw());
  std::vector<double> shortest;
  for (int i = 0; i < kRuns; ++i) {
    std::vector<double> seconds(plan.steps().size());
    plan.run_timed(in, out, arena.raw(), seconds);
    if (shortest.empty()) shortest = seconds;
    for (std::size_t s = 0; s < seconds.size(); ++s) {
      shortest[s] = std::min(shortest[s], seconds[s]);
    }
  }
  return shortest;
}

}  // namespace weft
