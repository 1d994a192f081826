// weft-bench narrow: the gradients of five convolutions, each behind a relu,
// whose operands are cast to --dtype as layers cast theirs. Layers refuse f16,
// which would need a scaled loss; ops take it.
#include <cmath>

#include "bench/worker/options.h"
#include "bench/worker/serve.h"

#include "weft/autodiff/gradient.h"
#include "weft/base/philox.h"
#include "weft/graph/builder.h"
#include "weft/ops/conv.h"
#include "weft/ops/ops.h"
#include "weft/runtime/executable.h"

namespace weft::bench {
namespace {

constexpr int kConvolutions = 5;
constexpr Dim kChannels = 32;
constexpr Dim kSide = 16;

const TensorType kWeight{DType::kF32, {3, 3, kChannels, kChannels}};

Tensor some_numbers(const TensorType& type, float bound, std::uint32_t stream) {
  const Tensor x = Tensor::empty(type);
  const RandomStream random{1, 112, stream};
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const float u = uniform_from(random.word(static_cast<std::uint64_t>(i)));
    x.data<float>()[i] = bound * (2 * u - 1);
  }
  return x;
}

// The loss, then its gradients.
Function convolutions(const TensorType& images, DType dtype) {
  FunctionBuilder builder("narrow");
  return builder.build([&] {
    Value h = cast(builder.parameter(images, "images"), dtype);
    std::vector<Value> weights;
    for (int i = 0; i < kConvolutions; ++i) {
      weights.push_back(builder.parameter(kWeight, "w" + std::to_string(i)));
      h = relu(
          conv2d(h, cast(weights.back(), dtype), {.padding = {1, 1, 1, 1}}));
    }
    std::vector<Value> results{mean(square(cast(h, DType::kF32)))};
    for (const Value& each : gradients(results[0], weights)) {
      results.push_back(each);
    }
    return results;
  });
}

}  // namespace

void race_narrow(const WorkerOptions& options) {
  const std::uint64_t baseline = status_bytes("VmRSS");
  const std::int64_t steps = options.integer("steps");
  const Dim batch = options.integer("batch");
  const DType dtype =
      dtype_from_string(options.text("dtype")).value_or(DType::kF32);
  const TensorType images{DType::kF32, {batch, kSide, kSide, kChannels}};
  Executable executable(convolutions(images, dtype));
  std::vector<Tensor> arguments{some_numbers(images, 1, 0)};
  std::vector<Tensor> results{Tensor::zeros({DType::kF32, {}})};
  for (std::uint32_t i = 1; i <= kConvolutions; ++i) {
    arguments.push_back(some_numbers(kWeight, 0.1f, i));
    results.push_back(Tensor::zeros(kWeight));
  }
  const auto check = [&] {
    executable.run(arguments, results);
    // The loss, and a norm of each gradient.
    Json values = Json::array();
    for (const Tensor& result : results) {
      double sum = 0;
      for (const float x : result.span<float>()) sum += double{x} * x;
      values.push_back(std::sqrt(sum));
    }
    return Json{{"values", values}};
  };
  const auto block = [&] {
    for (std::int64_t i = 0; i < steps; ++i) executable.run(arguments, results);
    return steps * batch;
  };
  serve({{"check", check}, {"run", [&] { return timed(block); }}}, baseline);
}

}  // namespace weft::bench
