// Gradients of maps that stand in several concatenations: added up before they
// are cut apart, they are what they were.
#include <algorithm>
#include <gtest/gtest.h>

#include "tests/support/values.h"

#include "weft/autodiff/gradient.h"
#include "weft/graph/builder.h"
#include "weft/ops/ops.h"
#include "weft/runtime/executable.h"

namespace weft::gradients_of_parts_test {
namespace {

using test::near;
using test::pattern;

constexpr const char* kPass = "sum_before_slices";

struct Block {
  Dim channels;              // that enter
  std::vector<Dim> growths;  // channels that each layer adds
  DType dtype = DType::kF32;
  Shape image = {5, 6, 6};  // without channels
  bool is_trained = true;
};

struct Staged {
  Function function;
  std::vector<Tensor> arguments;
};

// A dense block, whose layers read all maps before them, its loss, and the
// gradients of all parameters if it is trained.
Staged dense_block(const Block& block) {
  Shape image = block.image;
  image.push_back(block.channels);
  std::vector<Tensor> arguments{pattern(image)};
  Dim channels = block.channels;
  for (const Dim growth : block.growths) {
    arguments.push_back(pattern({3, 3, channels, growth}, -0.3, 0.3));
    arguments.push_back(pattern({channels}, 0.5, 1.5));
    channels += growth;
  }
  FunctionBuilder builder("f");
  Function function = builder.build([&] {
    std::vector<Value> parameters;
    for (const Tensor& argument : arguments) {
      parameters.push_back(builder.parameter(argument.type()));
    }
    std::vector<Value> maps{to_dtype(parameters[0], block.dtype)};
    for (std::size_t i = 1; i < parameters.size(); i += 2) {
      const Value x = maps.size() == 1 ? maps[0] : concat(maps, -1);
      const Value& scale = parameters[i + 1];
      const Value y = relu(batch_norm(x, scale, scale - 0.7, 1e-3)[0]);
      maps.push_back(conv2d(y, to_dtype(parameters[i], block.dtype),
                            {.padding = {1, 1, 1, 1}}));
    }
    const Value last = to_dtype(concat(maps, -1), DType::kF32);
    std::vector<Value> results{mean(square(last - 0.1))};
    if (!block.is_trained) return results;
    for (const Value& gradient : gradients(results[0], parameters)) {
      results.push_back(gradient);
    }
    return results;
  });
  return {std::move(function), std::move(arguments)};
}

// Maps of odd numbers of channels and of one, that several layers read, by
// examples that chunks do not divide.
TEST(GradientsOfParts, AreThoseOfTheGraphAsItIs) {
  for (const auto& [block, tolerance] :
       {std::pair{Block{4, {3, 3, 3}}, 1e-4},
        {Block{1, {1, 1, 1, 1}}, 1e-4},
        {Block{7, {1, 5, 2, 16}, DType::kF32, {3, 5, 9}}, 1e-4},
        {Block{24, {12, 12, 12}, DType::kF32, {2, 8, 8}}, 1e-4},
        {Block{6, {3, 1, 4}, DType::kBF16}, 4e-2}}) {
    const Staged staged = dense_block(block);
    for (const BatchNormForm form :
         {BatchNormForm::kAuto, BatchNormForm::kBnff, BatchNormForm::kIcf}) {
      Executable merged(staged.function, {.batch_norm = form});
      Executable apart(staged.function,
                       {.without = {kPass}, .batch_norm = BatchNormForm::kMvf});
      const auto actual = merged.run(staged.arguments);
      const auto expected = apart.run(staged.arguments);
      ASSERT_EQ(actual.size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_TRUE(near(actual[i], expected[i], tolerance))
            << to_string(form) << ", result " << i << " of a block of "
            << block.channels << " channels";
      }
    }
  }
}

// Whole numbers, whose sums are exact in any order and dtype.
TEST(GradientsOfParts, AreExactForWholeNumbers) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64}) {
    std::vector<TensorType> types;
    for (const Dim width : {2, 1, 3, 3, 6, 6}) {
      types.push_back({dtype, {4, 5, width}});
    }
    std::vector<Tensor> arguments;
    for (const TensorType& type : types) {
      const Tensor whole = Tensor::empty({DType::kF32, type.shape});
      for (Dim i = 0; i < whole.size(); ++i) {
        whole.data<float>()[i] = static_cast<float>(
            (7 * i + 3 * static_cast<Dim>(arguments.size())) % 11 - 5);
      }
      arguments.push_back(cast(Value(whole), dtype).tensor());
    }
    FunctionBuilder builder("f");
    const Function function = builder.build([&] {
      std::vector<Value> p;
      for (const TensorType& type : types) p.push_back(builder.parameter(type));
      // The columns of the first two maps are in three concatenations.
      const Value two = concat(std::vector{p[0], p[1]}, -1);
      const Value three = concat(std::vector{p[0], p[1], p[2]}, -1);
      const Value loss =
          sum(two * p[3]) + sum(three * p[4]) + sum(three * p[5]);
      return gradients(loss, std::vector{p[0], p[1], p[2]});
    });
    const auto actual = Executable(function).run(arguments);
    const auto numbers = [&](std::size_t i) {
      return test::numbers(arguments[i]);
    };
    const auto narrow = numbers(3);
    const auto wide = numbers(4);
    const auto other = numbers(5);
    Dim first = 0;
    for (std::size_t map = 0; map < 3; ++map) {
      const auto found = test::numbers(actual[map]);
      const Dim width = types[map].shape.back();
      for (Dim i = 0; i < actual[map].size(); ++i) {
        const Dim row = i / width;
        const Dim column = first + i % width;
        const auto place = static_cast<std::size_t>(6 * row + column);
        double expected = wide[place] + other[place];
        if (map < 2) {
          expected += narrow[static_cast<std::size_t>(3 * row + column)];
        }
        EXPECT_EQ(found[static_cast<std::size_t>(i)], expected)
            << to_string(dtype) << ", map " << map << ", element " << i;
      }
      first += width;
    }
  }
}

// How many steps cut something out of a value.
std::size_t cuts(const Staged& staged, BatchNormForm form) {
  Executable executable(staged.function, {.batch_norm = form});
  const auto& steps = executable.plan_for(staged.arguments).steps();
  return static_cast<std::size_t>(std::ranges::count(
      steps, "slice", [](const StepInfo& step) { return step.name; }));
}

// What a layer's convolution asks for is cut out of the sum of all gradients.
// Other forms of batch norm leave them apart: loops add their columns, and only
// the last layer's, which has nothing to be added to, is cut.
TEST(GradientsOfParts, AreOneSumByTheFormThatSaysSo) {
  const Staged staged = dense_block({4, {3, 3, 3, 3}});
  EXPECT_EQ(cuts(staged, BatchNormForm::kAuto), 4u);
  EXPECT_EQ(cuts(staged, BatchNormForm::kMvf), 1u);
}

// Each map takes its place in the wide value where that lies, chunk by chunk: a
// wide value for each layer would be in memory beside the next.
TEST(NestedConcats, GrowInPlace) {
  const Staged staged = dense_block({.channels = 32,
                                     .growths = {8, 8, 8, 8},
                                     .image = {4, 16, 16},
                                     .is_trained = false});
  const std::size_t wide = 4 * 16 * 16 * 64 * sizeof(float);
  Executable nested(staged.function, {.batch_norm = BatchNormForm::kIcf});
  EXPECT_LE(nested.plan_for(staged.arguments).buffer_bytes(), wide * 5 / 4);
}

// The value into which a slice is put is read again behind it, in the same
// chunks: it may not be overwritten.
TEST(NestedConcats, LeaveWhatIsReadAgain) {
  const std::vector<Tensor> arguments{
      pattern({5, 6, 6, 8}), pattern({3, 3, 8, 8}, -0.3, 0.3),
      pattern({3, 3, 8, 4}, -0.3, 0.3), pattern({3, 3, 4, 8}, -0.3, 0.3)};
  FunctionBuilder builder("f");
  const Function function = builder.build([&] {
    std::vector<Value> p;
    for (const Tensor& each : arguments) {
      p.push_back(builder.parameter(each.type()));
    }
    const Conv2dOptions same{.padding = {1, 1, 1, 1}};
    const Value map = conv2d(p[0], p[1], same);
    // A sum over the batch ends the chunks in which the map is made.
    const Value part = conv2d(relu(map - moments(map).first), p[2], same);
    const Value put = dynamic_update_slice(
        map, part, Value(Tensor::of<std::int64_t>({4}, {0, 0, 0, 2})));
    const Value again = conv2d(relu(part), p[3], same) * map;
    return std::vector{sum(put * moments(again).first, {0, 1, 2})};
  });
  Executable chunked(function, {.batch_norm = BatchNormForm::kIcf});
  const auto& steps = chunked.plan_for(arguments).steps();
  EXPECT_TRUE(std::ranges::any_of(steps, [](const StepInfo& step) {
    return step.chunk > 0 &&
           step.name.find("dynamic_update_slice") != std::string::npos;
  }));
  const auto actual = chunked.run(arguments);
  const auto expected =
      Executable(function, {.batch_norm = BatchNormForm::kNone}).run(arguments);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(near(actual[i], expected[i], 1e-4)) << "result " << i;
  }
}

}  // namespace
}  // namespace weft::gradients_of_parts_test
