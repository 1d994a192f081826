#include "weft/ops/support/batching.h"

#include <algorithm>

#include "weft/graph/context.h"
#include "weft/ops/shape.h"
#include "weft/tensor/symbol.h"

namespace weft {

Shape with_leading(Dim size, const Shape& dims) {
  Shape shape{size};
  for (const Dim dim : dims) shape.push_back(dim);
  return shape;
}

Value stacked(const BatchContext& g, std::size_t input) {
  Value x = g.x(input);
  if (g.is_batched(input)) return x;
  // The op does not broadcast, so it must be shown an operand per instance.
  return broadcast_to(x, with_leading(g.size(), x.shape()));
}

Value aligned(const BatchContext& g, std::size_t input, int rank) {
  Value x = g.x(input);
  const Shape& dims = g.call().input(input).shape;
  // A shared operand is aligned at its last axis already, as broadcasting does.
  if (!g.is_batched(input) || dims.rank() == rank) return x;
  Shape shape{g.size()};
  // Ones stand between the batch and the instance's axes, so that broadcasting
  // aligns these at the end, as it did for one instance.
  shape.resize(1 + rank - dims.rank(), 1);
  for (const Dim dim : dims) shape.push_back(dim);
  return reshape(x, shape);
}

std::vector<Value> call_again(const BatchContext& g,
                              std::span<const Value> inputs) {
  return call_all(g.op(), inputs, g.attributes(), {});
}

std::vector<Value> batch_elementwise(const BatchContext& g) {
  // Ranks count without the batch: an operand of fewer axes would otherwise
  // line its batch up with an axis of another one.
  int rank = 0;
  for (const TensorType& type : g.call().inputs) {
    rank = std::max(rank, type.shape.rank());
  }
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < g.input_count(); ++i) {
    inputs.push_back(aligned(g, i, rank));
  }
  return call_again(g, inputs);
}

namespace {

std::vector<Value> all_stacked(const BatchContext& g) {
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < g.input_count(); ++i) {
    inputs.push_back(stacked(g, i));
  }
  return inputs;
}

}  // namespace

std::vector<Value> batch_rows(const BatchContext& g) {
  return call_again(g, all_stacked(g));
}

std::vector<Value> batch_along_axis(const BatchContext& g) {
  Attributes attributes = g.attributes();
  // A negative axis counts from the end, where the batch does not stand.
  attributes.set("axis", stacked_axis(attributes.integer("axis")));
  return call_all(g.op(), all_stacked(g), attributes, {});
}

std::vector<Value> batch_images(const BatchContext& g, std::size_t images) {
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < g.input_count(); ++i) {
    if (i >= images) {
      if (g.is_batched(i)) {
        throw g.unsupported("the instances differ in more than the images");
      }
      inputs.push_back(g.x(i));
      continue;
    }
    Shape shape = g.call().input(i).shape;
    // The first axis counts images, so B sets of n are one set of B n, and
    // nothing moves where the operand is stacked already.
    shape[0] = dim_multiply(g.size(), shape[0]);
    inputs.push_back(reshape(stacked(g, i), shape));
  }
  Attributes attributes = g.attributes();
  if (attributes.find("shape") != nullptr) {
    Shape shape = attributes.get<Shape>("shape");
    shape[0] = dim_multiply(g.size(), shape[0]);
    attributes.set("shape", shape);
  }
  auto results = call_all(g.op(), inputs, attributes, {});
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i] =
        reshape(results[i], with_leading(g.size(), g.call().outputs[i].shape));
  }
  return results;
}

// For a linear f, Σ f(x_b, z_b) = f(Σ x_b, Σ z_b): one call instead of B.
std::vector<Value> sum_of_linear(const BatchContext& g) {
  std::vector<Value> inputs;
  // A shared operand is summed as well: it counts once for each instance.
  for (std::size_t i = 0; i < g.input_count(); ++i) inputs.push_back(g.sum(i));
  return call_again(g, inputs);
}

std::vector<Value> sum_of_multilinear(const BatchContext& g) {
  std::vector<Value> inputs;
  int batched = 0;
  for (std::size_t i = 0; i < g.input_count(); ++i) {
    if (g.is_batched(i)) ++batched;
  }
  // The sum of products is no product of sums: with two operands that differ,
  // there is nothing to fold.
  if (batched != 1) return {};
  // For f linear in x, Σ f(x_b, w) = f(Σ x_b, w).
  for (std::size_t i = 0; i < g.input_count(); ++i) {
    inputs.push_back(g.is_batched(i) ? g.sum(i) : g.x(i));
  }
  return call_again(g, inputs);
}

std::vector<Value> sum_of_linear_in_first(const BatchContext& g) {
  // An op that is not linear in the operand that differs has no such sum.
  return g.is_batched(0) ? sum_of_multilinear(g) : std::vector<Value>{};
}

}  // namespace weft
