// What weft_core computes by itself, against values worked out by hand.
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <vector>

#include "weft/autodiff/gradient.h"
#include "weft/base/error.h"
#include "weft/files/exported.h"
#include "weft/graph/kernel.h"
#include "weft/graph/registry.h"
#include "weft/ops/ops.h"
#include "weft/runtime/eager.h"
#include "weft/runtime/jit/jit.h"

namespace weft::serving_test {
namespace {

Tensor counting(const Shape& shape) {
  Tensor tensor = Tensor::zeros({DType::kF32, shape});
  float next = 0;
  for (float& value : tensor.span<float>()) value = next++;
  return tensor;
}

std::vector<float> numbers(const Value& value) {
  const auto span = value.tensor().span<float>();
  return {span.begin(), span.end()};
}

TEST(Core, HasNoLibraries) { EXPECT_EQ(kernel_libraries(), "no libraries"); }

// Sizes that fill no vector and no block of rows, of a product that a cache
// holds and of one that is cut into tiles.
TEST(Core, MultipliesMatrices) {
  for (const auto& [rows, columns] : {std::pair<Dim, Dim>{19, 5}, {191, 71}}) {
    const Tensor a = counting({rows, 3});
    const Tensor b = counting({3, columns});
    const auto product = numbers(matmul(Value(a), Value(b)));
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        float sum = 0;
        for (std::int64_t p = 0; p < 3; ++p) {
          sum += a.data<float>()[i * 3 + p] * b.data<float>()[p * columns + j];
        }
        EXPECT_EQ(product[static_cast<std::size_t>(i * columns + j)], sum);
      }
    }
  }
}

TEST(Core, SaysWhyNoLibraryComputes) {
  const std::vector<TensorType> inputs(2, {DType::kF64, {119, 119}});
  const std::vector<TensorType> outputs(1, {DType::kF64, {119, 119}});
  Attributes attributes;
  attributes.set("transpose_a", false);
  attributes.set("transpose_b", false);
  attributes.set("activation", "none");
  const KernelChoice choice =
      choose_kernel({op_registry().get("matmul"), inputs, attributes, outputs});
  EXPECT_EQ(choice.name, "simd:tiles");
  EXPECT_THAT(choice.declined,
              testing::Contains("libraries: weft_core is built without oneDNN, "
                                "OpenBLAS and LAPACK"));
}

TEST(Core, ConvolvesAndDifferentiates) {
  const Value image = counting({1, 3, 3, 1});
  Value window = Tensor::of<float>({2, 2, 1, 1}, {1, 2, 3, 4});
  Tape tape;
  tape.watch(window);
  const Value y = conv2d(image, window);
  EXPECT_EQ(numbers(y), (std::vector<float>{27, 37, 57, 67}));
  EXPECT_EQ(numbers(tape.gradient(sum(y), {&window, 1})[0]),
            (std::vector<float>{8, 12, 20, 24}));
}

TEST(Core, RunsWhatWasExported) {
  const auto path =
      std::filesystem::path(testing::TempDir()) / "weft_core_exported.weft";
  const Value x = counting({2, 3});
  const Variable weight(counting({3, 2}), {.name = "weight"});
  const auto predict = jit(
      [&](const Value& in) { return relu(matmul(in, weight.read()) - 12); },
      {.name = "predict", .signature = {{{DType::kF32, {symbol("N"), 3}}}}});
  predict(x);
  export_function(path, *predict.graph(x));
  ExportedFunction function(path);
  const std::vector<Tensor> results = function.run({x.tensor()});
  EXPECT_EQ(numbers(results[0]), (std::vector<float>{0, 1, 16, 28}));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace weft::serving_test
