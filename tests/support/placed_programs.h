// Programs whose functions are worth placing on several ranks, and their
// arguments.
#pragma once

#include <random>

#include "tests/support/recursions.h"
#include "tests/support/values.h"

#include "weft/autodiff/gradient.h"

namespace weft::test {

inline constexpr Dim kTreeWidth = 6;
inline constexpr Dim kTreeNodes = 64;  // room in the tables of a tree
inline constexpr Dim kTreeWords = 9;

// A recursive network on a tree: h = @leaf(word) = the word's row, or
// @combine(h, h) = tanh([h; h] w + b). @loss(root, left, right, words, w, b) is
// the sum of h² at the root, and @step adds the gradients by words, w and b.
inline Graph tree_program() {
  const TensorType indices{DType::kI64, {kTreeNodes}};
  const TensorType words{DType::kF32, {kTreeWords, kTreeWidth}};
  const TensorType weight{DType::kF32, {2 * kTreeWidth, kTreeWidth}};
  const TensorType hidden{DType::kF32, {kTreeWidth}};
  const std::vector<TensorType> parameters{kNumber, indices, indices,
                                           words,   weight,  hidden};
  Program program;
  const FunctionRef leaf = program.define(
      "leaf", {kNumber, words},
      [](const Values& v) { return Values{gather(v[1], v[0]) * 1.5f}; });
  const FunctionRef combine = program.define(
      "combine", {hidden, hidden, weight, hidden}, [](const Values& v) {
        const Value row =
            reshape(concat(Values{v[0], v[1]}, 0), {1, 2 * kTreeWidth});
        return Values{tanh(reshape(matmul(row, v[2]), {kTreeWidth}) + v[3])};
      });
  const FunctionRef tree = program.declare("tree", {parameters, {hidden}});
  program.define(tree, [&](const Values& v) {
    const Value left = gather(v[1], v[0]);
    const Value right = gather(v[2], v[0]);
    return cond(
        less(left, number(0)),
        [&] {
          return call(leaf, Values{right, v[3]});
        },
        [&] {
          const auto branch = [&](const Value& node) {
            return call_one(tree, {node, v[1], v[2], v[3], v[4], v[5]});
          };
          return call(combine, Values{branch(left), branch(right), v[4], v[5]});
        });
  });
  const auto loss = [&](const Values& v) {
    return sum(square(call_one(tree, v)));
  };
  program.define("loss", parameters,
                 [&](const Values& v) { return Values{loss(v)}; });
  program.define("step", parameters, [&](const Values& v) {
    Values results{loss(v)};
    for (Value& g : gradients(results[0], std::span(v).subspan(3))) {
      results.push_back(std::move(g));
    }
    return results;
  });
  return program.build();
}

// The arguments for a random tree of at most kTreeNodes / 2 leaves: a leaf has
// left = -1 and its word in right.
inline std::vector<Tensor> random_tree(int leaves, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::int64_t> left(kTreeNodes, -1);
  std::vector<std::int64_t> right(kTreeNodes, 0);
  std::vector<std::size_t> open;
  std::size_t nodes = 0;
  for (; nodes < static_cast<std::size_t>(leaves); ++nodes) {
    right[nodes] = static_cast<std::int64_t>(random() % kTreeWords);
    open.push_back(nodes);
  }
  for (; open.size() > 1; ++nodes) {
    const std::size_t at = random() % (open.size() - 1);
    left[nodes] = static_cast<std::int64_t>(open[at]);
    right[nodes] = static_cast<std::int64_t>(open[at + 1]);
    open[at] = nodes;
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  return {Tensor::scalar(static_cast<std::int64_t>(open[0])),
          Tensor::of<std::int64_t>({kTreeNodes}, left),
          Tensor::of<std::int64_t>({kTreeNodes}, right),
          pattern({kTreeWords, kTreeWidth}),
          pattern({2 * kTreeWidth, kTreeWidth}),
          pattern({kTreeWidth})};
}

inline std::vector<TensorType> types_of(std::span<const Tensor> tensors) {
  std::vector<TensorType> types;
  for (const Tensor& tensor : tensors) types.push_back(tensor.type());
  return types;
}

}  // namespace weft::test
