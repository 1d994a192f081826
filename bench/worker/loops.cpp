// weft-bench loops FORM: one elementwise pass over memory, or all of those of a
// training step of ResNet-20.
#include <map>

#include "bench/worker/options.h"
#include "bench/worker/serve.h"
#include "bench/worker/training.h"

#include "weft/base/philox.h"
#include "weft/graph/builder.h"
#include "weft/nn/model.h"
#include "weft/ops/ops.h"
#include "weft/optim/optimizer.h"
#include "weft/runtime/executable.h"

namespace weft::bench {
namespace {

using Body = Value (*)(const Value& a, const Value& b);

struct Form {
  DType dtype;
  Body body;
};

// The forms are compared with each other, so that they move the same bytes.
const Form& form_of(const std::string& name) {
  static const Body plain = [](const Value& a, const Value& b) {
    return a * b + a;
  };
  static const std::map<std::string, Form> forms{
      {"f32", {DType::kF32, plain}},
      {"f64", {DType::kF64, plain}},
      {"i64", {DType::kI64, plain}},
      {"tanh", {DType::kF32, [](const Value& a, const Value& b) {
                  return tanh(a * b) + a;
                }}}};
  const auto found = forms.find(name);
  if (found != forms.end()) return found->second;
  throw Error(ErrorCode::kInvalidArgument, "weft-bench", "no form '{}'", name)
      .hint("f32, f64, i64, tanh, resnet20");
}

Tensor some_numbers(DType dtype, Dim size, std::uint32_t number) {
  const Tensor x = Tensor::empty({dtype, {size}});
  const RandomStream random{1, 110, number};
  dispatch(dtype, [&]<class T>(T) {
    for (Dim i = 0; i < size; ++i) {
      x.data<T>()[i] = static_cast<T>(
          8 * uniform_from(random.word(static_cast<std::uint64_t>(i))) - 4);
    }
  });
  return x;
}

void race_pass(const Form& form, const WorkerOptions& options) {
  const std::uint64_t baseline = status_bytes("VmRSS");
  const std::int64_t steps = options.integer("steps");
  const auto size =
      static_cast<Dim>(options.integer("bytes") /
                       static_cast<std::int64_t>(size_of(form.dtype)));
  FunctionBuilder builder("pass");
  const TensorType type{form.dtype, {size}};
  Executable executable(builder.build([&] {
    const Value a = builder.parameter(type, "a");
    const Value b = builder.parameter(type, "b");
    return std::vector{form.body(a, b)};
  }));
  const std::vector<Tensor> arguments{some_numbers(form.dtype, size, 0),
                                      some_numbers(form.dtype, size, 1)};
  const std::vector<Tensor> results{Tensor::zeros(type)};
  const auto block = [&] {
    for (std::int64_t i = 0; i < steps; ++i) executable.run(arguments, results);
    return 3 * steps * static_cast<std::int64_t>(results[0].bytes());
  };
  serve({{"run", [&] { return timed(block); }}}, baseline);
}

// The seconds that the loops of one training step take, and nothing else of it.
double loop_seconds(Step& step) {
  const auto addresses = [](const std::vector<Tensor>& tensors) {
    std::vector<void*> found;
    for (const Tensor& tensor : tensors) found.push_back(tensor.raw());
    return found;
  };
  Plan& plan = step.plan();
  const auto arguments = addresses(step.arguments());
  const auto results = addresses(step.results());
  static const Tensor arena =
      Tensor::zeros({DType::kU8, {static_cast<Dim>(plan.arena_bytes())}});
  std::vector<double> seconds(plan.steps().size());
  plan.run_timed(arguments, results, arena.raw(), seconds);
  double sum = 0;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (plan.steps()[i].kernel.starts_with("loop:")) sum += seconds[i];
  }
  return sum;
}

void race_training_loops(const WorkerOptions& options) {
  const std::uint64_t baseline = status_bytes("VmRSS");
  const std::int64_t steps = options.integer("steps");
  const Dim batch = options.integer("batch");
  const auto model =
      build_model(model_registry().get("resnet20"),
                  {.example = {32, 32, 3}, .classes = 10, .lanes = 0}, {});
  model->initialize(1);
  const auto momentum = make_optimizer("momentum", {});
  const std::vector<Tensor> examples{
      some_numbers(DType::kF32, batch * 32 * 32 * 3, 0)
          .reshape({batch, 32, 32, 3}),
      Tensor::zeros({DType::kI32, {batch}})};
  Step step(describe_step(*model, "classification", *momentum,
                          {examples[0].type(), examples[1].type()}),
            StepCut::kTrain);
  step.run(examples, {.lr = 1e-3});
  const auto run = [&] {
    double seconds = 0;
    for (std::int64_t i = 0; i < steps; ++i) seconds += loop_seconds(step);
    return Json{{"seconds", seconds}, {"work", steps}};
  };
  serve({{"run", run}}, baseline);
}

}  // namespace

void race_loops(const WorkerOptions& options) {
  if (options.model == "resnet20") {
    race_training_loops(options);
  } else {
    race_pass(form_of(options.model), options);
  }
}

}  // namespace weft::bench
