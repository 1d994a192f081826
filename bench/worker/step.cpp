// weft-bench step MODEL: the same eight synthetic batches over and over.
#include "bench/worker/options.h"
#include "bench/worker/serve.h"
#include "bench/worker/training.h"
#include "tests/support/heap_use.h"

#include "weft/base/philox.h"

namespace weft::bench {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr std::uint32_t kInputStream = 100;
constexpr std::uint32_t kLabelStream = 101;
constexpr std::uint32_t kDistinctBatches = 8;
constexpr int kCheckedSteps = 5;

using Pair = std::vector<Tensor>;  // input and label

Tensor some_integers(const Shape& shape, std::int64_t end, std::uint32_t stream,
                     std::uint32_t number) {
  const Tensor drawn = Tensor::empty({DType::kI32, shape});
  const RandomStream words{kSeed, stream, number};
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(drawn.size()); ++i) {
    drawn.data<std::int32_t>()[i] = static_cast<std::int32_t>(
        words.word(i) % static_cast<std::uint32_t>(end));
  }
  return drawn;
}

Pair image_batch(const RacedModel& model, std::int64_t size,
                 std::uint32_t number) {
  Shape shape{size};
  for (const Dim dim : model.image) shape.push_back(dim);
  const Tensor images = Tensor::empty({DType::kF32, shape});
  const RandomStream pixels{kSeed, kInputStream, number};
  const auto count = static_cast<std::uint64_t>(images.size());
  for (std::uint64_t i = 0; i < count; ++i) {
    images.data<float>()[i] = uniform_from(pixels.word(i));
  }
  return {images, some_integers({size}, model.classes, kLabelStream, number)};
}

Pair text_batch(const RacedModel& model, std::int64_t size,
                std::uint32_t number) {
  return {some_integers({size, model.steps}, model.words, kInputStream, number),
          some_integers({size}, model.classes, kLabelStream, number)};
}

// Time t of column j is word t × size + j; ours are [size, steps].
Pair token_batch(const RacedModel& model, std::int64_t size,
                 std::uint32_t number) {
  const TensorType type{DType::kI32, {size, model.steps}};
  const Tensor inputs = Tensor::empty(type);
  const Tensor labels = Tensor::empty(type);
  const RandomStream words{kSeed, kInputStream, number};
  const auto token = [&](std::int64_t t, std::int64_t j) {
    return static_cast<std::int32_t>(
        words.word(static_cast<std::uint64_t>(t * size + j)) %
        static_cast<std::uint32_t>(model.classes));
  };
  for (std::int64_t j = 0; j < size; ++j) {
    for (std::int64_t t = 0; t < model.steps; ++t) {
      const std::int64_t at = j * model.steps + t;
      inputs.data<std::int32_t>()[at] = token(t, j);
      labels.data<std::int32_t>()[at] = token(t + 1, j);
    }
  }
  return {inputs, labels};
}

std::vector<Pair> all_batches(const RacedModel& model, std::int64_t size) {
  std::vector<Pair> batches;
  for (std::uint32_t i = 0; i < kDistinctBatches; ++i) {
    batches.push_back(model.image.rank() > 0 ? image_batch(model, size, i)
                      : model.words > 0      ? text_batch(model, size, i)
                                             : token_batch(model, size, i));
  }
  return batches;
}

}  // namespace

void race_step(const WorkerOptions& options) {
  const std::uint64_t baseline = status_bytes("VmRSS");
  const RacedModel& model = raced_model(options.model);
  const std::int64_t size = options.integer("batch");
  const std::int64_t steps = options.integer("steps");
  const auto dtype = dtype_from_string(options.text("dtype"));
  const std::vector<Pair> batches = all_batches(model, size);
  Training training(model, {batches[0][0].type(), batches[0][1].type()},
                    options.text("weights"), dtype.value_or(DType::kF32));
  std::size_t done = 0;
  const auto step = [&] {
    return training.step(batches[done++ % kDistinctBatches]);
  };
  const auto check = [&] {
    Json losses = Json::array();
    for (int i = 0; i < kCheckedSteps; ++i) losses.push_back(step());
    return Json{{"losses", losses}};
  };
  const auto block = [&] {
    for (std::int64_t i = 0; i < steps; ++i) step();
    return steps * size;
  };
  const auto allocations = [&] {
    const auto before = test::heap_use();
    step();
    const auto after = test::heap_use();
    return Json{{"allocations", after.own - before.own},
                {"by_libraries", after.libraries - before.libraries}};
  };
  serve({{"check", check},
         {"run", [&] { return timed(block); }},
         {"allocations", allocations}},
        baseline);
}

}  // namespace weft::bench
