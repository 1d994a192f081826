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
  const Value x = g.x(input);
  if (g.is_batched(input)) return x;
  return broadcast_to(x, with_leading(g.size(), x.shape()));
}

Value aligned(const BatchContext& g, std::size_t input, int rank) {
  const Value x = g.x(input);
  const Shape& dims = g.call().input(input).shape;
  // A shared operand is aligned at its last axis already, as broadcasting does.
  if (!g.is_batched(input) || dims.rank() == rank) return x;
  Shape shape{g.size()};
  shape.resize(1 + rank - dims.rank(), 1);
  for (const Dim dim : dims) shape.push_back(dim);
  return reshape(x, shape);
}

std::vector<Value> call_again(const BatchContext& g,
                              std::span<const Value> inputs) {
  return call_all(g.op(), inputs, g.attributes(), {});
}

std::vector<Value> batch_elementwise(const BatchContext& g) {
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
  for (std::size_t i = 0; i < g.input_count(); ++i) {
    inputs.push_back(g.is_batched(i) ? g.sum(i) : g.x(i));
  }
  return call_again(g, inputs);
}

std::vector<Value> sum_of_linear_in_first(const BatchContext& g) {
  return g.is_batched(0) ? sum_of_multilinear(g) : std::vector<Value>{};
}

}  // namespace weft
