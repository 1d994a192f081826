// Batching rules that whole families of ops share. B is the number of
// instances; a batched operand has it as its leading axis (graph/batch.h).
#pragma once

#include "weft/graph/batch.h"

namespace weft {

// `dims` after a leading `size`.
Shape with_leading(Dim size, const Shape& dims);
// `axis` of an instance's operand, in a stack of them.
inline std::int64_t stacked_axis(std::int64_t axis) {
  return axis < 0 ? axis : axis + 1;
}

// An operand with the batch axis, repeated along it if the instances share it.
Value stacked(const BatchContext& g, std::size_t input);
// An operand whose own dims are the last of `rank`, to be broadcast: ones
// stand between the batch axis and them. A shared operand stays as it is.
Value aligned(const BatchContext& g, std::size_t input, int rank);

// Operands broadcast against each other.
std::vector<Value> batch_elementwise(const BatchContext& g);
// Rows of the last axes are computed alone, whatever axes lead.
std::vector<Value> batch_rows(const BatchContext& g);
// The attribute "axis" counts the operands' axes.
std::vector<Value> batch_along_axis(const BatchContext& g);
// Images [n, rows, columns, channels] are computed alone: the instances' images
// become one set of B n. The first kImages operands are sets of images, as all
// results are, and "shape" says what shape these have; the instances must share
// the other operands.
std::vector<Value> batch_images(const BatchContext& g, std::size_t images);
template <std::size_t kImages>
std::vector<Value> batch_images(const BatchContext& g) {
  return batch_images(g, kImages);
}

// The same op on other operands.
std::vector<Value> call_again(const BatchContext& g,
                              std::span<const Value> inputs);

// Sums over the instances, for ops that are linear in all operands together,
std::vector<Value> sum_of_linear(const BatchContext& g);
// linear in each operand while the others stay,
std::vector<Value> sum_of_multilinear(const BatchContext& g);
// or linear in the first operand only.
std::vector<Value> sum_of_linear_in_first(const BatchContext& g);

}  // namespace weft
