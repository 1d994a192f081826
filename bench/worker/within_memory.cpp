// weft-bench within-memory MODEL --batch B: a training step with all the memory
// that it takes, and with a half and a third of that. Requests: `report`;
// `run whole`, `run half` and `run third`.
#include <cstring>

#include "bench/worker/options.h"
#include "bench/worker/serve.h"
#include "bench/worker/training.h"

namespace weft::bench {
namespace {

constexpr int kStepsOfBlock = 3;

// Ordinary numbers, and the first class.
std::vector<Tensor> some_batch(const RacedModel& model, Dim size) {
  Shape shape{size};
  for (const Dim dim : model.image) shape.push_back(dim);
  const Tensor images = Tensor::empty({DType::kF32, shape});
  for (Dim i = 0; i < images.size(); ++i) {
    images.data<float>()[i] = static_cast<float>(i % 17) / 17;
  }
  return {images, Tensor::zeros({DType::kI32, {size}})};
}

// A model with its own state, and the step that changes it.
class Form {
 public:
  Form(const RacedModel& raced, const std::vector<Tensor>& batch,
       std::optional<std::size_t> limit)
      : raced_(raced),
        batch_(batch),
        model_(build_model(model_registry().get(raced.name),
                           {.example = raced.image, .classes = raced.classes},
                           {})),
        optimizer_(make_raced_optimizer(raced)) {
    model_->initialize(1);
    StepOptions options;
    options.memory_limit = limit;
    // As a plan with a limit has it: chunks alone take less memory.
    options.batch_norm = BatchNormForm::kMvf;
    step_.emplace(
        describe_step(*model_, model_registry().get(raced.name).task,
                      *optimizer_, {batch[0].type(), batch[1].type()}, options),
        StepCut::kTrain);
  }

  std::int64_t run() {
    for (int i = 0; i < kStepsOfBlock; ++i) {
      step_->run(batch_, {.lr = raced_.lr, .number = steps_done_++});
    }
    return kStepsOfBlock;
  }
  Json report() {
    const Plan& plan = step_->plan();
    const RecomputeReport* found = plan.recomputed();
    return {{"arena", plan.arena_bytes()},
            {"again", found == nullptr ? 0 : found->steps.size()},
            {"taken", found == nullptr ? "nothing" : found->taken},
            {"seconds", found == nullptr ? 0.0 : found->seconds}};
  }
  std::size_t arena_bytes() { return step_->plan().arena_bytes(); }

 private:
  const RacedModel& raced_;
  const std::vector<Tensor>& batch_;
  std::unique_ptr<nn::Module> model_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<Step> step_;
  std::int64_t steps_done_ = 0;
};

}  // namespace

void race_within_memory(const WorkerOptions& options) {
  const std::uint64_t baseline = status_bytes("VmRSS");
  const RacedModel& raced = raced_model(options.model);
  const std::vector<Tensor> batch = some_batch(raced, options.integer("batch"));
  Form whole(raced, batch, std::nullopt);
  const std::size_t bytes = whole.arena_bytes();
  Form half(raced, batch, bytes / 2);
  Form third(raced, batch, bytes / 3);
  const auto report = [&] {
    return Json{{"whole", whole.report()},
                {"half", half.report()},
                {"third", third.report()}};
  };
  serve({{"report", report},
         {"run whole", [&] { return timed([&] { return whole.run(); }); }},
         {"run half", [&] { return timed([&] { return half.run(); }); }},
         {"run third", [&] { return timed([&] { return third.run(); }); }}},
        baseline);
}

}  // namespace weft::bench
