#include "bench/worker/step_trace.h"

#include <algorithm>

#include "weft/base/stopwatch.h"
#include "weft/nn/model.h"
#include "weft/runtime/plan/step_times.h"
#include "weft/train/step/step.h"

namespace weft::bench {
namespace {

constexpr int kRuns = 4;  // the first does not count
constexpr std::int64_t kWords = 16000;
constexpr std::int64_t kClasses = 1000;

std::unique_ptr<nn::Module> any_model(const ModelDef& def, std::int64_t side) {
  Options options;
  for (const OptionSpec& spec : def.options) {
    if (spec.name == "dropout") options["dropout"] = 0.0;
  }
  const ModelInput input =
      def.takes_words
          ? ModelInput{.example = {side}, .classes = kWords, .words = kWords}
          : ModelInput{.example = {side, side, 3}, .classes = kClasses};
  auto model = build_model(def, input, options);
  model->initialize(1);
  return model;
}

std::vector<Tensor> any_batch(const ModelDef& def, std::int64_t size,
                              std::int64_t side) {
  if (!def.takes_words) {
    const Tensor images = Tensor::empty({DType::kF32, {size, side, side, 3}});
    std::ranges::fill(images.span<float>(), 0.5f);
    return {images, Tensor::zeros({DType::kI32, {size}})};
  }
  std::vector<Tensor> batch;
  for (int i = 0; i < 2; ++i) {
    batch.push_back(Tensor::empty({DType::kI32, {size, side}}));
    // The first few numbers mean padding, and where sentences begin and end.
    std::int32_t word = 4;
    for (auto& each : batch.back().span<std::int32_t>()) {
      each = word;
      word = word % 1000 + 4;
    }
  }
  return batch;
}

// Events of one run, with the seconds between them, and the rest.
std::vector<StepEvent> run(Step& step, std::span<const Tensor> batch,
                           double& rest) {
  std::vector<StepEvent> events;
  double last = 0;
  const Stopwatch watch;
  const auto note = [&](bool is_gradient) {
    return [&, is_gradient](std::size_t parameter) {
      const double now = watch.seconds();
      events.push_back({now - last, is_gradient, parameter});
      last = now;
    };
  };
  step.run(batch, {}, note(true), note(false));
  rest = watch.seconds() - last;
  return events;
}

}  // namespace

double StepTrace::seconds() const {
  double sum = rest;
  for (const StepEvent& event : events) sum += event.seconds;
  return sum;
}

std::vector<std::size_t> StepTrace::first_uses() const {
  std::vector<std::size_t> uses(bytes.size(), events.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!events[i].is_gradient) {
      uses[events[i].parameter] = std::min(uses[events[i].parameter], i);
    }
  }
  return uses;
}

StepTrace trace_step(const WorkerOptions& options, bool with_gradients) {
  const ModelDef& def = model_registry().get(options.model);
  const std::int64_t side = options.integer("side");
  const auto model = any_model(def, side);
  const auto task = make_task(def.task);
  const std::vector<Tensor> batch =
      any_batch(def, options.integer("batch"), side);
  const StepDescription description(
      *model, *task, {{"input", batch[0].type()}, {"label", batch[1].type()}});
  Step step(description,
            with_gradients ? StepCut::kGradients : StepCut::kEvaluate);
  StepTrace trace;
  for (const NamedTensor& named : description.tensors(EntryRole::kParameter)) {
    trace.bytes.push_back(static_cast<double>(named.tensor.bytes()));
  }
  for (int i = 0; i < kRuns; ++i) {
    double rest = 0;
    std::vector<StepEvent> events = run(step, batch, rest);
    if (i == 0) continue;
    if (trace.events.empty()) {
      trace.events = events;
      trace.rest = rest;
    }
    // What else the machine does only makes a run longer.
    for (std::size_t e = 0; e < events.size(); ++e) {
      double& least = trace.events[e].seconds;
      least = std::min(least, events[e].seconds);
    }
    trace.rest = std::min(trace.rest, rest);
  }
  trace.graph = step.transfers();
  const auto seconds =
      time_steps(step.plan(), step.arguments(), step.results());
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    trace.graph.computations[i].seconds = seconds[i];
  }
  return trace;
}

}  // namespace weft::bench
