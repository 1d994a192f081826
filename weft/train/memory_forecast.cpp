#include "weft/train/memory_forecast.h"

#include <algorithm>
#include <utility>

#include "weft/base/cpu.h"
#include "weft/data/loader.h"
#include "weft/train/hooks/tensorboard.h"
#include "weft/train/step/step.h"
#include "weft/train/sync/policy.h"
#include "weft/train/train_loop.h"

namespace weft {
namespace {

double held() { return static_cast<double>(held_memory_bytes()); }

double bytes_of(const std::vector<NamedTensor>& tensors) {
  double bytes = 0;
  for (const NamedTensor& named : tensors) {
    bytes += static_cast<double>(named.tensor.bytes());
  }
  return bytes;
}

// A loader has a batch in its taker's hands beside those that it makes ahead.
double batch_bytes(const std::vector<BatchInput>& inputs) {
  double bytes = 0;
  for (const BatchInput& input : inputs) {
    bytes += static_cast<double>(input.type.bytes());
  }
  return bytes * (LoaderOptions().prefetch + 1);
}

// The inputs of a batch of one.
std::vector<BatchInput> of_one(std::vector<BatchInput> inputs) {
  for (BatchInput& input : inputs) input.type.shape[0] = 1;
  return inputs;
}

// The arena of a cut, which is taken when it is planned and touched when it
// runs.
double arena_of(const StepDescription& description, StepCut cut,
                MemoryForecast& forecast) {
  Step step(description, cut);
  if (step.is_tagged()) {
    forecast.is_open = true;
    return 0;
  }
  return static_cast<double>(step.plan().arena_bytes());
}

// How full the last batch of an epoch is, whose gradients are shown.
double last_batch_share(const BatchSource& source, const TrainRecipe& train) {
  const std::int64_t batch = train.batch;
  // A run that ends within an epoch shows those of its last batch, too.
  const std::int64_t batches = source.batches_per_epoch();
  if (steps_of(train, batches) % batches != 0) return 1;
  const std::int64_t before = (batches - 1) * batch;
  const std::int64_t last = source.examples_per_epoch() - before;
  return static_cast<double>(std::min(last, batch)) /
         static_cast<double>(batch);
}

std::string gigabytes(double bytes) {
  return fmt::format("{:.2f} GB", bytes / 1e9);
}

}  // namespace

double MemoryForecast::total() const {
  return program + data + parameters + optimizer_state + planning + train_step +
         gradients + evaluation + batches + network;
}

MemoryForecast forecast_memory(const Recipe& recipe, int workers) {
  MemoryForecast forecast;
  forecast.batch = recipe.train.batch;
  forecast.workers = workers;
  forecast.program = held();
  Assembly assembly = assemble(recipe, workers);
  forecast.data = held() - forecast.program;
  assembly.model->initialize(static_cast<std::uint64_t>(recipe.train.seed));
  const auto source = assembly.data->train({.rank = 0, .ranks = workers});
  const auto held_out = assembly.data->measure(assembly.held_out(),
                                               {.rank = 0, .ranks = workers});
  const StepDescription description(*assembly.model, *assembly.task,
                                    source->inputs(), step_options(recipe),
                                    assembly.optimizer.get());
  const double parameters =
      bytes_of(description.tensors(EntryRole::kParameter));
  const double state = bytes_of(description.tensors(EntryRole::kSlot));
  forecast.parameters = bytes_of(description.state()) - state;
  forecast.optimizer_state = state;
  const double before = held();
  const bool is_one_by_one =
      recipe.privacy.is_on() && step_options(recipe).privacy == std::nullopt;
  if (is_one_by_one) {
    forecast.one_by_one = source->inputs().at(0).type.shape[0];
  }
  forecast.train_step =
      arena_of(is_one_by_one ? description.with_inputs(of_one(source->inputs()))
                             : description,
               StepCut::kTrain, forecast);
  if (shows_gradients(recipe)) {
    forecast.gradients =
        parameters + last_batch_share(*source, recipe.train) *
                         arena_of(description, StepCut::kGradients, forecast);
  }
  forecast.evaluation = arena_of(description.with_inputs(held_out->inputs()),
                                 StepCut::kEvaluate, forecast);
  // In the end, test data are measured beside what was held out meanwhile.
  if (assembly.held_out() != DataPart::kTest &&
      assembly.data->has(DataPart::kTest)) {
    forecast.evaluation *= 2;
  }
  forecast.planning = std::max(0.0, held() - before);
  forecast.batches =
      batch_bytes(source->inputs()) + batch_bytes(held_out->inputs());
  if (workers > 1) {
    // Where all share a model, it is there once, and each keeps what it has
    // read of it. Else there are a worker's own gradients, what it sends, and
    // what it hears meanwhile.
    forecast.network = policy_of(recipe.sync).def->shares_model
                           ? parameters * (1 + 1.0 / workers)
                           : 3 * parameters;
    for (double* each :
         {&forecast.parameters, &forecast.optimizer_state, &forecast.planning,
          &forecast.train_step, &forecast.gradients, &forecast.evaluation,
          &forecast.batches, &forecast.network}) {
      *each *= workers;
    }
  }
  return forecast;
}

void require_memory(const Recipe& recipe, double needed) {
  const auto free = static_cast<double>(free_memory_bytes());
  if (needed <= free) return;
  const std::int64_t batch = recipe.train.batch;
  // Nearly all of it grows with the batch, so that no other one is planned.
  const auto fitting =
      static_cast<std::int64_t>(static_cast<double>(batch) * free / needed);
  Error error(ErrorCode::kExhausted, "train",
              "a step with a batch of {} takes {}, and {} are free", batch,
              gigabytes(needed), gigabytes(free));
  if (fitting >= 1) {
    error.hint(
        fmt::format("a batch of about {} should fit: --set train.batch={}; or "
                    "let values be "
                    "computed again: --set train.memory={:.0f}MB",
                    fitting, fitting, 0.9 * free / 1e6));
  } else {
    error.hint("more memory, or a smaller model");
  }
  throw error;
}

}  // namespace weft
