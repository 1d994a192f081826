#include "weft/train/sync/prices.h"

#include <algorithm>

#include "weft/base/philox.h"
#include "weft/base/stopwatch.h"
#include "weft/train/sync/auto_codec.h"
#include "weft/train/sync/compressor.h"
#include "weft/train/sync/lone_rule.h"

namespace weft {
namespace {

constexpr double kEnoughSeconds = 1;
constexpr std::size_t kEnoughRuns = 9;

// Runs `once` until there are enough runs or they took long enough, after one
// in which memory is touched and kernels are chosen. Gives the median one.
template <class Run, class Once>
Run median_run(const Once& once) {
  once();
  const Stopwatch whole;
  std::vector<Run> runs;
  do {
    runs.push_back(once());
  } while (runs.size() < kEnoughRuns && whole.seconds() < kEnoughSeconds);
  // The median leaves out runs in which the machine did something else.
  const auto middle =
      runs.begin() + static_cast<std::ptrdiff_t>(runs.size() / 2);
  std::ranges::nth_element(runs, middle, {}, &Run::seconds);
  return std::move(*middle);
}

struct Timed {
  double seconds = 0;
};

double update_seconds(const Optimizer& optimizer,
                      std::span<const NamedTensor> trainable) {
  std::vector<NamedTensor> copies;
  std::vector<Tensor> gradients;
  for (const NamedTensor& named : trainable) {
    copies.push_back({named.name, named.tensor.clone()});
    gradients.push_back(Tensor::zeros(named.tensor.type()));
  }
  StepDescription description(optimizer, copies, /*clip_norm=*/0);
  description.set_gradients(gradients);
  Step update(description, StepCut::kUpdate);
  return median_run<Timed>([&] {
           const Stopwatch watch;
           update.run({}, {.lr = 0, .number = 0});
           return Timed{watch.seconds()};
         })
      .seconds;
}

double rule_seconds_per_byte(const SyncRecipe& recipe, int workers) {
  if (is_mean(recipe)) return 0;
  constexpr std::size_t kSize = std::size_t{1} << 16;
  // Gradients so small that no rule takes one for a lie.
  std::vector<std::vector<float>> gradients;
  std::vector<Contribution> arrived;
  for (int rank = 0; rank < workers; ++rank) {
    const RandomStream random{1, static_cast<std::uint32_t>(rank), 0};
    gradients.emplace_back(kSize);
    for (std::size_t i = 0; i < kSize; ++i) {
      gradients.back()[i] = 1e-9f * uniform_from(random.word(i));
    }
  }
  for (int rank = 0; rank < workers; ++rank) {
    arrived.push_back({rank, gradients[static_cast<std::size_t>(rank)]});
  }
  const std::vector<float> parameters(kSize, 0.0f);
  std::vector<float> result(kSize);
  LoneRule rule(make_rule(recipe, {.workers = workers}), kSize);
  return median_run<Timed>([&] {
           const Stopwatch watch;
           rule.combine(arrived, parameters, result);
           return Timed{watch.seconds()};
         }).seconds /
         (kSize * sizeof(float));
}

}  // namespace

StepPrice measure_step(Step& backward, const Batch& batch,
                       std::span<const NamedTensor> state,
                       std::size_t parameters, MeasuredRuns runs) {
  std::vector<Tensor> before;
  for (const NamedTensor& named : state) before.push_back(named.tensor.clone());
  const auto once = [&] {
    StepPrice run;
    run.examples = static_cast<double>(batch.size);
    run.use_at.resize(parameters);
    run.gradient_at.resize(parameters);
    const Stopwatch watch;
    backward.run(
        batch.tensors, {},
        [&](std::size_t parameter) {
          run.gradient_at[parameter] = watch.seconds();
          run.gradients.push_back(parameter);
        },
        [&](std::size_t parameter) {
          run.use_at[parameter] = watch.seconds();
          run.uses.push_back(parameter);
        });
    run.seconds = watch.seconds();
    return run;
  };
  StepPrice price =
      runs == MeasuredRuns::kOne ? once() : median_run<StepPrice>(once);
  for (std::size_t i = 0; i < state.size(); ++i) {
    state[i].tensor.copy_from(before[i]);
  }
  return price;
}

SyncPrice measure_sync(const SyncRecipe& recipe, const Roles& roles,
                       const Optimizer& optimizer,
                       std::span<const NamedTensor> trainable) {
  double bytes = 0;
  for (const NamedTensor& named : trainable) {
    bytes += static_cast<double>(named.tensor.bytes());
  }
  const CodecSpeed speed =
      measure_codec(pipeline_text(recipe), roles.workers() + roles.servers());
  return {.encode = speed.encode_seconds_per_byte,
          .decode = speed.decode_seconds_per_byte,
          .update = update_seconds(optimizer, trainable) / bytes,
          .rule = rule_seconds_per_byte(recipe, roles.workers())};
}

}  // namespace weft
