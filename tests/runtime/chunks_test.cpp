// Steps in chunks of the batch compute what the same steps compute for the
// whole batch: chains of convolutions and batch norms, with their gradients.
#include "weft/compiler/chunks.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>

#include "tests/support/values.h"

#include "weft/autodiff/gradient.h"
#include "weft/base/parallel.h"
#include "weft/graph/builder.h"
#include "weft/graph/text.h"
#include "weft/ops/ops.h"
#include "weft/runtime/executable.h"
#include "weft/runtime/plan/step_kernel.h"

namespace weft::chunks_test {
namespace {

using test::near;
using test::pattern;

struct Chain {
  Shape image;  // NHWC
  Dim middle = 8;
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  std::int64_t padding = 1;
  DType dtype = DType::kF32;
};

Tensor numbers(const Shape& shape, DType dtype) {
  Tensor tensor = pattern(shape);
  if (dtype == DType::kF32) return tensor;
  const Tensor wide = Tensor::empty({dtype, shape});
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    wide.data<double>()[i] = tensor.item(i);
  }
  return wide;
}

// conv -> batch norm -> ReLU -> conv -> batch norm, its loss, and the gradients
// of all parameters.
struct Staged {
  Function function;
  std::vector<Tensor> arguments;
};

using Body = std::function<std::vector<Value>(FunctionBuilder&,
                                              const std::vector<Value>&)>;

Staged stage(const std::vector<Tensor>& arguments, const Body& body) {
  FunctionBuilder builder("f");
  return {builder.build([&] {
            std::vector<Value> parameters;
            for (const Tensor& argument : arguments) {
              parameters.push_back(builder.parameter(argument.type()));
            }
            std::vector<Value> results = body(builder, parameters);
            const Value loss = sum(results[0]);
            for (const Value& gradient : gradients(loss, parameters)) {
              results.push_back(gradient);
            }
            return results;
          }),
          arguments};
}

Staged chain(const Chain& c) {
  const Dim channels = c.image.back();
  const std::vector<Tensor> arguments = {
      numbers(c.image, c.dtype),
      numbers({c.kernel, c.kernel, channels, c.middle}, c.dtype),
      numbers({c.middle}, c.dtype),
      numbers({c.middle}, c.dtype),
      numbers({c.kernel, c.kernel, c.middle, 4}, c.dtype),
      numbers({4}, c.dtype),
      numbers({4}, c.dtype)};
  const Conv2dOptions options{
      .strides = {c.stride, c.stride},
      .padding = {c.padding, c.padding, c.padding, c.padding}};
  return stage(arguments, [&](FunctionBuilder&, const std::vector<Value>& p) {
    const Value x = conv2d(p[0], p[1], options);
    const auto [y, mean, variance] = batch_norm(x, p[2] + 1.5, p[3], 1e-3);
    const Value z = conv2d(relu(y), p[4], options);
    const Value out = batch_norm(z, p[5], p[6], 1e-3)[0];
    return std::vector{square(out + 0.3), mean, variance};
  });
}

std::vector<Tensor> run_with(const Staged& staged, BatchNormForm form) {
  Executable executable(staged.function, {.batch_norm = form});
  return executable.run(staged.arguments);
}

std::size_t chunked_steps(const Staged& staged, BatchNormForm form) {
  Executable executable(staged.function, {.batch_norm = form});
  std::size_t count = 0;
  for (const StepInfo& step : executable.plan_for(staged.arguments).steps()) {
    if (step.chunk > 0) ++count;
  }
  return count;
}

void expect_same(const Staged& staged, double tolerance) {
  const auto expected = run_with(staged, BatchNormForm::kMvf);
  for (const BatchNormForm form :
       {BatchNormForm::kNone, BatchNormForm::kRcf, BatchNormForm::kBnff,
        BatchNormForm::kIcf, BatchNormForm::kAuto}) {
    const auto actual = run_with(staged, form);
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(near(actual[i], expected[i], tolerance))
          << to_string(form) << ", result " << i;
    }
  }
  EXPECT_GT(chunked_steps(staged, BatchNormForm::kBnff), 0u);
}

TEST(Chunks, ComputeWhatTheWholeBatchComputes) {
  expect_same(chain({.image = {4, 6, 5, 3}}), 1e-4);
  expect_same(chain({.image = {5, 7, 7, 6}, .kernel = 1, .padding = 0}), 1e-4);
  expect_same(chain({.image = {3, 9, 9, 4}, .stride = 2}), 1e-4);
  expect_same(chain({.image = {2, 8, 8, 16}, .middle = 1, .padding = 2}), 1e-4);
  expect_same(chain({.image = {4, 6, 5, 3}, .dtype = DType::kF64}), 1e-10);
}

// Three layers of a dense block: each reads all maps before it, so that a map
// has several batch norms, and several gradients.
Staged dense_block(bool is_nested) {
  const Shape image{5, 6, 6, 4};
  std::vector<Tensor> arguments{pattern(image)};
  for (Dim channels = 4; channels < 13; channels += 3) {
    arguments.push_back(pattern({1, 1, channels, 6}));
    arguments.push_back(pattern({3, 3, 6, 3}));
    arguments.push_back(pattern({channels}, 0.5, 1.5));
    arguments.push_back(pattern({6}, 0.5, 1.5));
  }
  return stage(arguments, [=](FunctionBuilder&, const std::vector<Value>& p) {
    std::vector<Value> maps{p[0]};
    for (std::size_t i = 1; i < p.size(); i += 4) {
      const Value x = maps.size() == 1 ? maps[0] : concat(maps, -1);
      if (is_nested) maps = {x};
      const Value y = relu(batch_norm(x, p[i + 2], p[i + 2] - 0.7, 1e-3)[0]);
      const Value t = conv2d(y, p[i]);
      const Value z = relu(batch_norm(t, p[i + 3], p[i + 3] - 0.7, 1e-3)[0]);
      maps.push_back(conv2d(z, p[i + 1], {.padding = {1, 1, 1, 1}}));
    }
    return std::vector{square(concat(maps, -1) - 0.1)};
  });
}

TEST(Chunks, ServeMapsThatSeveralBatchNormsRead) {
  expect_same(dense_block(/*is_nested=*/false), 1e-3);
  expect_same(dense_block(/*is_nested=*/true), 1e-3);
}

// The second ReLU comes behind a sum with the shortcut, which others read, too.
TEST(Chunks, LeaveWhatOthersReadInMemory) {
  const std::vector<Tensor> arguments{
      pattern({6, 7, 7, 4}), pattern({3, 3, 4, 4}),
      pattern({3, 3, 4, 4}, -1, 1, 2), pattern({4}, 0.5, 1.5),
      pattern({4}, -0.5, 0.5, 3)};
  const Conv2dOptions same{.padding = {1, 1, 1, 1}};
  expect_same(stage(arguments,
                    [&](FunctionBuilder&, const std::vector<Value>& p) {
                      const Value first = relu(batch_norm(
                          conv2d(p[0], p[1], same), p[3], p[4], 1e-3)[0]);
                      const Value second = batch_norm(conv2d(first, p[2], same),
                                                      p[3], p[4], 1e-3)[0];
                      return std::vector{square(relu(second + first)), first};
                    }),
              1e-4);
}

TEST(Chunks, GoThroughGroupsDilationAndPools) {
  const std::vector<Tensor> arguments{pattern({5, 12, 12, 4}),
                                      pattern({3, 3, 2, 8}),
                                      pattern({3, 3, 8, 4}, -1, 1, 2)};
  expect_same(
      stage(
          arguments,
          [&](FunctionBuilder&, const std::vector<Value>& p) {
            const Value scale = full({DType::kF32, {8}}, 0.7);
            const Value x =
                conv2d(p[0], p[1], {.padding = {1, 1, 1, 1}, .groups = 2});
            const Value y = relu(batch_norm(x, scale, scale, 1e-3)[0]);
            const Value z = avg_pool(y, {.window = {2, 2}, .strides = {2, 2}});
            return std::vector{square(conv2d(
                z, p[2], {.padding = {2, 2, 2, 2}, .dilation = {2, 2}}))};
          }),
      1e-4);
}

// Images of one row: what is summed over their rows is still each image's.
TEST(Chunks, KeepExamplesApartInSumsOverOneRow) {
  const std::vector<Tensor> arguments{
      pattern({5, 1, 9, 4}), pattern({1, 1, 4, 4}), pattern({4}, 0.5, 1.5)};
  expect_same(stage(arguments,
                    [](FunctionBuilder&, const std::vector<Value>& p) {
                      const Value x = conv2d(p[0], p[1]);
                      const Value y = relu(batch_norm(x, p[2], p[2], 1e-3)[0]);
                      const Value z =
                          batch_norm(conv2d(y, p[1]), p[2], p[2], 1e-3)[0];
                      return std::vector{square(z), sum(square(y), {1})};
                    }),
              1e-4);
}

// Examples without channels have no bytes by which a chunk could be measured.
TEST(Chunks, LeaveExamplesWithoutElementsWhole) {
  const Staged staged =
      stage({pattern({4, 5, 5, 0}), pattern({0})},
            [](FunctionBuilder&, const std::vector<Value>& p) {
              const auto [y, mean, variance] =
                  batch_norm(relu(p[0] + 0.5), p[1], p[1], 1e-3);
              return std::vector{square(relu(y) - 0.3), mean, variance};
            });
  for (const BatchNormForm form :
       {BatchNormForm::kBnff, BatchNormForm::kAuto}) {
    EXPECT_EQ(run_with(staged, form)[0].shape(), (Shape{4, 5, 5, 0}));
    EXPECT_EQ(chunked_steps(staged, form), 0u);
  }
}

// Padding is of what the ReLU gives: zeros, where the shift of batch norm would
// give 2.
TEST(Chunks, PadBehindTheTransformation) {
  const std::vector<Tensor> arguments{pattern({4, 5, 5, 2}),
                                      pattern({3, 3, 2, 2})};
  const Staged staged =
      stage(arguments, [](FunctionBuilder&, const std::vector<Value>& p) {
        const Value scale = full({DType::kF32, {2}}, 1);
        const Value x = conv2d(p[0] * 0.0 + 3.0, p[1]);
        const Value y = relu(batch_norm(x, scale, scale * 2.0, 1e-3)[0]);
        const Value ones = full({DType::kF32, {3, 3, 2, 1}}, 1);
        return std::vector{conv2d(y, ones, {.padding = {1, 1, 1, 1}})};
      });
  const Tensor y = run_with(staged, BatchNormForm::kBnff)[0];
  // The window at the corner has four pixels of two channels, in the middle
  // nine.
  EXPECT_NEAR(y.item(0), 16, 1e-4);
  EXPECT_NEAR(y.item(1 * 3 + 1), 36, 1e-4);
  EXPECT_GT(chunked_steps(staged, BatchNormForm::kBnff), 0u);
}

// The square of the mean is a million times the variance here.
TEST(Chunks, KeepTheDigitsOfAVarianceFarFromZero) {
  const Tensor x = pattern({9, 16, 16, 3}, 999, 1001);
  const std::vector<Tensor> arguments{x};
  const Staged staged =
      stage(arguments, [](FunctionBuilder&, const std::vector<Value>& p) {
        // One filter passes its channel on, and the other is constant.
        const Value w = Tensor::of<float>({1, 1, 3, 2}, {1, 0, 0, 0, 0, 0});
        const Value scale = full({DType::kF32, {2}}, 1);
        const auto [y, mean, variance] =
            batch_norm(conv2d(p[0], w), scale, scale, 1e-5);
        return std::vector{square(y), mean, variance};
      });
  const auto results = run_with(staged, BatchNormForm::kBnff);
  double centre = 0;
  double squares = 0;
  const auto rows = static_cast<double>(x.size()) / 3;
  for (std::int64_t i = 0; i < x.size(); i += 3) centre += x.item(i) / rows;
  for (std::int64_t i = 0; i < x.size(); i += 3) {
    squares += (x.item(i) - centre) * (x.item(i) - centre) / rows;
  }
  EXPECT_NEAR(results[1].item(0), centre, 1e-3);
  EXPECT_NEAR(results[2].item(0), squares, 1e-3 * squares);
  EXPECT_EQ(results[2].item(1), 0);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    ASSERT_TRUE(std::isfinite(results[3].item(i)));
  }
  EXPECT_GT(chunked_steps(staged, BatchNormForm::kBnff), 0u);
}

TEST(Chunks, GiveTheSameBitsInEveryRun) {
  const Staged staged = dense_block(false);
  const auto first = run_with(staged, BatchNormForm::kIcf);
  const auto second = run_with(staged, BatchNormForm::kIcf);
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_TRUE(near(first[i], second[i], 0)) << i;
  }
}

// Maps that fit the caches are left as they are, and so is a trained network,
// whose statistics are given.
TEST(Chunks, AreFormedWhereTheyPay) {
  EXPECT_EQ(chunked_steps(chain({.image = {4, 6, 5, 3}}), BatchNormForm::kAuto),
            0u);
  const std::vector<Tensor> arguments{pattern({4, 5, 5, 2}),
                                      pattern({3, 3, 2, 2})};
  const Staged trained =
      stage(arguments, [](FunctionBuilder&, const std::vector<Value>& p) {
        const Value one = full({DType::kF32, {2}}, 1);
        const Value y =
            batch_norm_infer(conv2d(p[0], p[1]), one, one, one, one, 1e-3);
        return std::vector{conv2d(relu(y), p[1])};
      });
  EXPECT_EQ(chunked_steps(trained, BatchNormForm::kIcf), 0u);
}

TEST(Chunks, AreKnownByTheirForms) {
  for (const std::string& name : batch_norm_form_names()) {
    EXPECT_EQ(to_string(batch_norm_form(name)), name);
  }
  EXPECT_THROW(batch_norm_form("bnf"), Error);
}

// --- Chunks of any size ------------------------------------------------------

// The ops of each step; those of chunks stand in brackets.
std::string text_of(const Function& function,
                    const std::vector<PlanStep>& steps) {
  std::string text;
  const auto add = [&](const PlanStep& step) {
    std::string ops;
    for (const NodeId id : step.nodes) {
      ops += (ops.empty() ? "" : " ") + function.node(id).op->name();
    }
    text += (text.empty() || text.back() == '[' ? "" : "; ") + ops;
  };
  for (const PlanStep& step : steps) {
    if (step.parts.empty()) {
      add(step);
      continue;
    }
    text += (text.empty() ? "[" : "; [");
    for (const PlanStep& part : step.parts) add(part);
    text += fmt::format("] by {}", step.chunk);
  }
  return text;
}

constexpr const char* kChain = R"(func @f(
    %0: f32[8, 4, 4, 2], %1: f32[1, 1, 2, 2], %2: f32[3, 3, 2, 4])
    -> (f32[8, 4, 4, 4], f32[4], f32[4]) {
  %3 = conv2d(%0, %1) : f32[8, 4, 4, 2]
  %4, %5 = moments(%3) : f32[2], f32[2]
  %6 = subtract(%3, %4) : f32[8, 4, 4, 2]
  %7 = multiply(%6, %5) : f32[8, 4, 4, 2]
  %8 = relu(%7) : f32[8, 4, 4, 2]
  %9 = conv2d(%8, %2) {padding = [1, 1, 1, 1]} : f32[8, 4, 4, 4]
  %10, %11 = moments(%9) : f32[4], f32[4]
  return %9, %10, %11
})";

std::vector<PlanStep> steps_in_chunks(const Function& function,
                                      std::size_t chunk_bytes) {
  return chunk_steps(
      function, form_steps(function, /*fuse=*/true),
      {.cache_bytes = 0, .chunk_bytes = chunk_bytes, .must_pay = false});
}

// A run ends at statistics, which the next one needs.
TEST(Chunks, EndWhereAWholeBatchIsNeeded) {
  const Function function = parse_graph(kChain).functions.at(0);
  EXPECT_EQ(text_of(function, steps_in_chunks(function, 1 << 20)),
            "[conv2d; moments] by 8; "
            "[subtract multiply relu; conv2d; moments] by 8");
  EXPECT_EQ(text_of(function, steps_in_chunks(function, 2000)),
            "[conv2d; moments] by 4; "
            "[subtract multiply relu; conv2d; moments] by 3");
}

// A gradient that is cast for other workers is sent while later runs compute.
TEST(Chunks, GiveResultsAsSoonAsTheyCanBeMade) {
  const Function function = parse_graph(R"(func @f(
    %0: f32[8, 4, 4, 2], %1: f32[1, 1, 2, 2], %2: f32[3, 3, 2, 4])
    -> (f64[2], f32[4], f32[4]) {
  %3 = conv2d(%0, %1) : f32[8, 4, 4, 2]
  %4, %5 = moments(%3) : f32[2], f32[2]
  %6 = cast(%4) {dtype = f64} : f64[2]
  %7 = relu(%3) : f32[8, 4, 4, 2]
  %8 = subtract(%7, %5) : f32[8, 4, 4, 2]
  %9 = conv2d(%8, %2) {padding = [1, 1, 1, 1]} : f32[8, 4, 4, 4]
  %10, %11 = moments(%9) : f32[4], f32[4]
  return %6, %10, %11
})")
                                .functions.at(0);
  EXPECT_EQ(text_of(function, steps_in_chunks(function, 1 << 20)),
            "[conv2d; moments] by 8; cast; "
            "[relu subtract; conv2d; moments] by 8");
}

// Its maps take 32 KiB of each example.
constexpr const char* kWideChain = R"(func @f(
    %0: f32[8, 32, 32, 8], %1: f32[1, 1, 8, 8]) -> (f32[8, 32, 32, 8], f32[8]) {
  %2 = conv2d(%0, %1) : f32[8, 32, 32, 8]
  %3, %4 = moments(%2) : f32[8], f32[8]
  %5 = subtract(%2, %3) : f32[8, 32, 32, 8]
  %6 = multiply(%5, %4) : f32[8, 32, 32, 8]
  %7 = conv2d(%6, %1) : f32[8, 32, 32, 8]
  %8, %9 = moments(%7) : f32[8], f32[8]
  return %7, %9
})";

std::string paying_chunks(std::size_t cache_bytes, std::size_t chunk_bytes,
                          int threads) {
  const Function function = parse_graph(kWideChain).functions.at(0);
  std::vector<PlanStep> steps = form_steps(function, /*fuse=*/true);
  return text_of(function, chunk_steps(function, std::move(steps),
                                       {.cache_bytes = cache_bytes,
                                        .chunk_bytes = chunk_bytes,
                                        .threads = threads}));
}

TEST(Chunks, PayBySavedBytesAndBusyThreads) {
  constexpr std::size_t kLarge = 1 << 30;  // a cache that holds all values
  constexpr std::size_t kSmall = 1 << 10;
  constexpr std::size_t kChunk = 1 << 18;
  const std::string none =
      "conv2d; moments; subtract multiply; conv2d; moments";
  EXPECT_EQ(paying_chunks(kSmall, kChunk, 2),
            "[conv2d; moments] by 4; "
            "[subtract multiply; conv2d; moments] by 2");
  // A byte that is saved in the cache is worth less, and each chunk has its
  // price.
  EXPECT_EQ(paying_chunks(kLarge, kChunk, 2), none);
  EXPECT_EQ(paying_chunks(kLarge, 1, 1), none);
  // Two threads take three of the eight examples each, and the third takes two.
  // With five threads two would wait while three compute a second example.
  EXPECT_EQ(paying_chunks(kSmall, kChunk, 3),
            "[conv2d; moments] by 3; "
            "[subtract multiply; conv2d; moments] by 3");
  EXPECT_EQ(paying_chunks(kSmall, kChunk, 5), none);
}

TEST(Chunks, GiveOneResultForAnySizeOfThem) {
  const Function function = parse_graph(kChain).functions.at(0);
  const Readers readers(function);
  const Tensor x = pattern({8, 4, 4, 2});
  const Tensor w = pattern({1, 1, 2, 2});
  const Tensor v = pattern({3, 3, 2, 4});
  std::vector<std::vector<Tensor>> all;
  const int threads = thread_count();
  // There are fewer chunks than threads, as many, and more.
  for (const auto& [bytes, count] :
       std::vector<std::pair<std::size_t, int>>{{1 << 20, 1},
                                                {3000, 1},
                                                {2000, 2},
                                                {3000, 3},
                                                {1 << 20, 3},
                                                {1, 3},
                                                {1, 1}}) {
    set_thread_count(count);
    std::map<ValueId, Tensor> values{{0, x}, {1, w}, {2, v}};
    for (const PlanStep& step : steps_in_chunks(function, bytes)) {
      std::vector<void*> inputs;
      std::vector<void*> outputs;
      for (const ValueId id : step.inputs) {
        inputs.push_back(values.at(id).raw());
      }
      for (const ValueId id : step.outputs) {
        values[id] = Tensor::empty(function.type(id));
        outputs.push_back(values.at(id).raw());
      }
      const StepKernel prepared = prepare_kernel(function, readers, step);
      const Tensor scratch = Tensor::empty(
          {DType::kU8,
           {static_cast<Dim>(prepared.kernel->scratch_bytes()) + 1}});
      prepared.kernel->run({inputs.data(), outputs.data(), scratch.raw()});
    }
    all.push_back({values.at(9), values.at(10), values.at(11)});
  }
  set_thread_count(threads);
  for (std::size_t i = 1; i < all.size(); ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      EXPECT_TRUE(near(all[i][j], all[0][j], 1e-5)) << i << " " << j;
    }
  }
}

}  // namespace
}  // namespace weft::chunks_test
