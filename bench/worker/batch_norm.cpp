// weft-bench batch-norm MODEL --form F: training steps of an image model with
// batch norm in one of its forms (compiler/batch_norm_form.h); with
// `--rewrites none` of the graph as it was traced, but for what planning needs.
#include <ctime>

#include "bench/worker/options.h"
#include "bench/worker/serve.h"
#include "bench/worker/training.h"

#include "weft/base/philox.h"
#include "weft/compiler/pass.h"
#include "weft/compiler/rule.h"
#include "weft/runtime/plan/step_times.h"

namespace weft::bench {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr std::uint32_t kPixelStream = 110;
constexpr std::uint32_t kLabelStream = 111;
constexpr std::int64_t kClasses = 10;
// It is small, so that rounding does not grow into another course.
constexpr double kRate = 0.005;

// Batch `number` of images whose class shows in their pixels, so that there is
// something to learn.
std::vector<Tensor> image_batch(std::int64_t size, std::int64_t side,
                                std::uint32_t number) {
  const Tensor images = Tensor::empty({DType::kF32, {size, side, side, 3}});
  const Tensor labels = Tensor::empty({DType::kI32, {size}});
  const RandomStream pixels{kSeed, kPixelStream, number};
  const RandomStream classes{kSeed, kLabelStream, number};
  const auto example = static_cast<std::uint64_t>(side * side * 3);
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(size); ++i) {
    const auto label = static_cast<std::uint64_t>(classes.word(i) % kClasses);
    labels.data<std::int32_t>()[i] = static_cast<std::int32_t>(label);
    for (std::uint64_t j = 0; j < example; ++j) {
      const float shade = j % kClasses == label ? 0.5f : 0.0f;
      images.data<float>()[i * example + j] =
          uniform_from(pixels.word(i * example + j)) + shade;
    }
  }
  return {images, labels};
}

// What changes a training graph of its own accord and may be left out.
std::vector<std::string> all_rewrites() {
  std::vector<std::string> names;
  for (const PassDef& pass : pass_registry().all()) {
    if (!pass.is_needed) names.push_back(pass.name);
  }
  for (const RuleDef& rule : rule_registry().all()) {
    if (rule.use == RuleUse::kAlways) names.push_back(rule.name);
  }
  return names;
}

double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

struct Traffic {
  double bytes = 0;  // that the steps move
  std::size_t steps = 0;
  std::size_t chunked = 0;
};

Traffic traffic_of(const Plan& plan) {
  Traffic traffic;
  for (const StepInfo& step : plan.steps()) {
    traffic.bytes += step.cost.bytes;
    ++traffic.steps;
    if (step.chunk > 0) ++traffic.chunked;
  }
  return traffic;
}

// Seconds of the convolutions that are steps of their own, and of all steps.
Json split(Step& step) {
  Plan& plan = step.plan();
  const auto seconds = time_steps(plan, step.arguments(), step.results());
  double convolutions = 0;
  double all = 0;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    all += seconds[i];
    if (plan.steps()[i].name.starts_with("conv2d")) convolutions += seconds[i];
  }
  return {{"seconds", all}, {"convolutions", convolutions}};
}

}  // namespace

void race_batch_norm(const WorkerOptions& options) {
  const std::uint64_t baseline = status_bytes("VmRSS");
  const std::int64_t size = options.integer("batch");
  const std::int64_t side = options.integer("side");
  const std::int64_t steps = options.integer("steps");
  const ModelDef& def = model_registry().get(options.model);
  Options model_options;
  if (options.values.contains("depth")) {
    model_options["depth"] = options.integer("depth");
  }
  const auto model = build_model(
      def, {.example = {side, side, 3}, .classes = kClasses}, model_options);
  model->initialize(kSeed);
  const auto optimizer = make_optimizer("momentum", {{"momentum", 0.9}});
  const std::vector<Tensor> first = image_batch(size, side, 0);
  StepOptions settings;
  settings.batch_norm = batch_norm_form(options.text("form"));
  const auto rewrites = options.values.find("rewrites");
  if (rewrites != options.values.end() && rewrites->second == "none") {
    settings.without = all_rewrites();
  }
  Step step(describe_step(*model, def.task, *optimizer,
                          {first[0].type(), first[1].type()}, settings),
            StepCut::kTrain);
  std::uint32_t done = 0;
  const auto run = [&](const std::vector<Tensor>& batch) {
    step.run(batch, {.lr = kRate, .number = done++});
  };
  const auto block = [&] {
    const double start = processor_seconds();
    Json answer = timed([&] {
      for (std::int64_t i = 0; i < steps; ++i) run(first);
      return steps * size;
    });
    answer["processor_seconds"] = processor_seconds() - start;
    return answer;
  };
  const auto losses = [&] {
    Json all = Json::array();
    for (std::int64_t i = 0; i < steps; ++i) {
      run(image_batch(size, side, done));
      all.push_back(step.loss());
    }
    return Json{{"losses", all}};
  };
  const auto facts = [&] {
    const Traffic traffic = traffic_of(step.plan());
    return Json{{"bytes", traffic.bytes},
                {"steps", traffic.steps},
                {"chunked", traffic.chunked},
                {"arena_bytes", step.plan().arena_bytes()}};
  };
  serve({{"run", block},
         {"losses", losses},
         {"split", [&] { return split(step); }},
         {"facts", facts}},
        baseline);
}

}  // namespace weft::bench
