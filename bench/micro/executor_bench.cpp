// What running costs beside the kernels: a step of a plan, an eager op,
// making a plan, and a whole training step to hold them against.
#include <cmath>

#include "bench/micro/benches.h"
#include "bench/micro/op_runner.h"

#include "weft/graph/builder.h"
#include "weft/nn/model.h"
#include "weft/ops/ops.h"
#include "weft/train/step/step.h"

namespace weft::micro {
namespace {

constexpr int kChainLength = 64;
constexpr std::int64_t kTinySize = 16;
constexpr std::int64_t kBatch = 128;

Tensor small_numbers() {
  return random_tensor({{DType::kF32, {kTinySize}}, 0, 0.1}, 0);
}

// Transposes of a square: neither fused nor simplified away.
std::vector<Value> transpose_chain(Value x) {
  x = reshape(x, {4, 4});
  for (int i = 0; i < kChainLength; ++i) x = transpose(x);
  return {x};
}

void plan_step(benchmark::State& state) {
  const std::vector<Tensor> arguments{small_numbers()};
  FunctionBuilder builder("chain");
  const Value x = builder.parameter(arguments[0].type(), "x");
  Executable chain(builder.build([&] { return transpose_chain(x); }));
  const auto results = chain.run(arguments);
  const Tensor eager = transpose_chain(arguments[0])[0].tensor();
  if (!check_close(state, results[0], eager, 0)) return;
  for (auto _ : state) chain.run(arguments, results);
  const auto steps = chain.plan_for(arguments).steps().size();
  state.counters["s/step"] =
      benchmark::Counter(static_cast<double>(steps),
                         benchmark::Counter::kIsIterationInvariantRate |
                             benchmark::Counter::kInvert);
}

void eager_add(benchmark::State& state) {
  const Tensor numbers = small_numbers();
  const Value a = numbers;
  const Value b = full(numbers.type(), 1);
  Value sum = a + b;
  for (std::int64_t i = 0; i < kTinySize; ++i) {
    if (sum.tensor().item(i) == static_cast<float>(numbers.item(i)) + 1.0f) {
      continue;
    }
    state.SkipWithError("the sum is wrong");
    return;
  }
  for (auto _ : state) sum = a + b;
}

// A model with its optimizer, and one batch.
class Training {
 public:
  Training(const char* name, const Shape& image, bool check_numerics = false)
      : model_(build_model(model_registry().get(name),
                           {.example = image, .classes = 10}, {})),
        optimizer_(make_optimizer("momentum", {})) {
    Shape shape{kBatch};
    for (const Dim dim : image) shape.push_back(dim);
    batch_ = {random_tensor({{DType::kF32, shape}, 0, 1}, 0),
              random_tensor({{DType::kI32, {kBatch}}, 0, 10}, 1)};
    model_->initialize(1);
    const auto task = make_task("classification");
    step_ = std::make_unique<Step>(
        StepDescription(
            *model_, *task,
            {{"input", batch_[0].type()}, {"label", batch_[1].type()}},
            {.check_numerics = check_numerics}, optimizer_.get()),
        StepCut::kTrain);
  }

  float step() {
    step_->run(batch_, {.lr = 0.01, .number = steps_++});
    return static_cast<float>(step_->loss());
  }
  // Specialisation, fusion, memory and kernels, anew.
  std::size_t plan() {
    Executable executable(step_->function());
    return executable.plan_for(step_->arguments()).steps().size();
  }

 private:
  std::unique_ptr<nn::Module> model_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<Tensor> batch_;
  std::unique_ptr<Step> step_;
  std::int64_t steps_ = 0;
};

const Shape kMnistImage{28, 28, 1};
const Shape kCifarImage{32, 32, 3};

void plan_resnet20(benchmark::State& state) {
  Training training("resnet20", kCifarImage);
  if (!std::isfinite(training.step())) {
    state.SkipWithError("the loss is no number");
    return;
  }
  std::size_t steps = 0;
  for (auto _ : state) steps = training.plan();
  state.counters["steps"] = static_cast<double>(steps);
}

void step_mnist_cnn(benchmark::State& state) {
  Training training("mnist-cnn", kMnistImage);
  // The first steps against the same without fusion.
  Training unfused("mnist-cnn", kMnistImage, /*check_numerics=*/true);
  for (int i = 0; i < 3; ++i) {
    const float loss = training.step();
    const float expected = unfused.step();
    if (std::fabs(loss - expected) <= 1e-4f * expected) continue;
    state.SkipWithError(
        fmt::format("the loss is {}, not {}", loss, expected).c_str());
    return;
  }
  for (auto _ : state) training.step();
  state.counters["images/s"] =
      benchmark::Counter(static_cast<double>(kBatch),
                         benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace

void register_executor() {
  benchmark::RegisterBenchmark("executor/plan_step", plan_step)->UseRealTime();
  benchmark::RegisterBenchmark("executor/eager_add", eager_add)->UseRealTime();
  benchmark::RegisterBenchmark("executor/plan_resnet20", plan_resnet20)
      ->UseRealTime();
  benchmark::RegisterBenchmark("executor/step_mnist_cnn", step_mnist_cnn)
      ->UseRealTime();
}

}  // namespace weft::micro
