// Whole cells and losses, with their gradients, over many instances.
#include <array>
#include <gtest/gtest.h>

#include "tests/support/single_runs.h"
#include "tests/support/values.h"

#include "weft/autodiff/gradient.h"
#include "weft/graph/builder.h"
#include "weft/ops/ops.h"

namespace weft::testing::cells_test {
namespace {

using test::pattern;

constexpr auto kStack = BatchMode::kStack;
constexpr auto kSum = BatchMode::kSum;
constexpr Dim kHidden = 6;

// Block `index` of the gates.
Value gate(const Value& gates, std::int64_t index) {
  return slice_axis(gates, 1, index * kHidden, (index + 1) * kHidden);
}

// The cell of Hochreiter and Schmidhuber (1997) with forget gates; rows
// x, h, c: [1, kHidden].
std::array<Value, 2> lstm_cell(const Value& x, const Value& h, const Value& c,
                               const Value& w, const Value& bias) {
  const Value gates = matmul(concat(std::array{x, h}, 1), w) + bias;
  const Value next = sigmoid(gate(gates, 1)) * c +
                     sigmoid(gate(gates, 0)) * tanh(gate(gates, 2));
  return {sigmoid(gate(gates, 3)) * tanh(next), next};
}

// The binary cell of Tai, Socher and Manning (2015, equations 9 to 14 for two
// children), with a forget gate for each child. `children` are the rows h left,
// h right, c left and c right.
std::array<Value, 2> tree_lstm_cell(std::span<const Value> children,
                                    const Value& w, const Value& bias) {
  const Value gates = matmul(concat(children.first(2), 1), w) + bias;
  const Value c = sigmoid(gate(gates, 0)) * tanh(gate(gates, 1)) +
                  sigmoid(gate(gates, 2)) * children[2] +
                  sigmoid(gate(gates, 3)) * children[3];
  return {sigmoid(gate(gates, 4)) * tanh(c), c};
}

TensorType row() { return {DType::kF32, {1, kHidden}}; }

void expect_cell(const Function& cell, std::span<const bool> batched,
                 std::span<const BatchMode> modes) {
  for (const Dim instances : {1, 3, 64}) {
    std::vector<Tensor> arguments;
    for (std::size_t p = 0; p < batched.size(); ++p) {
      Shape shape = cell.type(cell.parameters()[p]).shape;
      if (batched[p]) {
        Shape stack{instances};
        for (const Dim dim : shape) stack.push_back(dim);
        shape = stack;
      }
      arguments.push_back(pattern(shape, -1, 1, p + 1));
    }
    expect_equals_single_runs(cell, batched, modes, arguments, 4 * kHidden);
  }
}

TEST(BatchedCells, Lstm) {
  FunctionBuilder builder("lstm");
  std::vector<Value> p;
  for (int i = 0; i < 3; ++i) p.push_back(builder.parameter(row()));
  p.push_back(builder.parameter({DType::kF32, {2 * kHidden, 4 * kHidden}}));
  p.push_back(builder.parameter({DType::kF32, {4 * kHidden}}));
  const Function cell = builder.build([&] {
    const auto next = lstm_cell(p[0], p[1], p[2], p[3], p[4]);
    return std::vector(next.begin(), next.end());
  });
  const std::array batched = {true, true, true, false, false};
  expect_cell(cell, batched, {});
  EXPECT_EQ(count_of(batch(cell, batched).function, "matmul"), 1u);
}

// Children, weights, and the gradients of h and c that arrive.
Function tree_lstm_with_gradient() {
  FunctionBuilder builder("tree_lstm");
  std::vector<Value> p;
  for (int i = 0; i < 4; ++i) p.push_back(builder.parameter(row()));
  p.push_back(builder.parameter({DType::kF32, {2 * kHidden, 5 * kHidden}}));
  p.push_back(builder.parameter({DType::kF32, {5 * kHidden}}));
  p.push_back(builder.parameter(row()));
  p.push_back(builder.parameter(row()));
  return builder.build([&] {
    const auto [h, c] = tree_lstm_cell(std::span(p).first(4), p[4], p[5]);
    std::vector<Value> results = {h, c};
    const Value flow = sum(h * p[6]) + sum(c * p[7]);
    for (Value& gradient : gradients(flow, std::span(p).first(6))) {
      results.push_back(std::move(gradient));
    }
    return results;
  });
}

TEST(BatchedCells, TreeLstmWithItsGradient) {
  const Function cell = tree_lstm_with_gradient();
  const std::array batched = {true, true, true, true, false, false, true, true};
  const std::array modes = {kStack, kStack, kStack, kStack,
                            kStack, kStack, kSum,   kSum};
  expect_cell(cell, batched, modes);
  expect_cell(cell, batched, {});

  const Function all = batch(cell, batched, modes).function;
  EXPECT_EQ(count_of(all, "matmul"), count_of(cell, "matmul"));
  for (std::size_t i = 0; i < all.value_count(); ++i) {
    EXPECT_NE(to_string(all.type(static_cast<ValueId>(i))), "f32[B, 12, 30]");
  }
}

TEST(BatchedCells, SoftmaxLossWithItsGradient) {
  FunctionBuilder builder("loss");
  const Value h = builder.parameter(row());
  const Value w = builder.parameter({DType::kF32, {kHidden, 5}});
  const Value label = builder.parameter({DType::kI32, {1}});
  const Function loss = builder.build([&] {
    const Value total = sum(cross_entropy(matmul(h, w), label));
    std::vector<Value> results = {total};
    for (Value& gradient : gradients(total, std::array{h, w})) {
      results.push_back(std::move(gradient));
    }
    return results;
  });
  const Tensor labels = Tensor::of<std::int32_t>({4, 1}, {4, 0, 2, 2});
  expect_equals_single_runs(
      loss, std::array{true, false, true}, std::array{kSum, kStack, kSum},
      {pattern({4, 1, kHidden}), pattern({kHidden, 5}), labels}, 4 * kHidden);
}

}  // namespace
}  // namespace weft::testing::cells_test
