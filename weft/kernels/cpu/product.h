// A call of `matmul` or `integer_matmul` as kernels see it: sizes, and where
// operands lie.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/index.h"
#include "weft/graph/kernel.h"
#include "weft/ops/support/elementwise.h"

namespace weft {

struct Product {
  TensorType a, b, y;
  bool transpose_a, transpose_b, has_bias, is_relu;
  bool bias_is_f32;  // also beside operands of bf16

  explicit Product(const OpCall& call)
      : a(call.input(0)),
        b(call.input(1)),
        y(call.outputs[0]),
        transpose_a(call.attributes.flag("transpose_a")),
        transpose_b(call.attributes.flag("transpose_b")),
        has_bias(call.has_input(2)),
        is_relu(has_relu(call)),
        bias_is_f32(has_bias && call.input(2).dtype == DType::kF32) {
    // A stack of transposed matrices cannot be flattened, as its rows are the
    // columns of each.
    if (b.shape.rank() == 2 && a.shape.rank() > 2 && !transpose_a) {
      a = flattened(a);
      y = flattened(y);
    }
  }
  // The operands are two matrices, and no stacks of them.
  bool is_plain() const { return y.shape.rank() == 2; }
  Dim m() const { return y.shape[y.shape.rank() - 2]; }
  Dim n() const { return y.shape.back(); }
  Dim k() const { return a.shape[a.shape.rank() - (transpose_a ? 2 : 1)]; }
  // How many multiplications one matrix of the stack takes.
  double multiplications() const {
    return static_cast<double>(m()) * static_cast<double>(n()) *
           static_cast<double>(k());
  }
  bool is_empty() const { return y.shape.num_elements() == 0 || k() == 0; }

  // Elements between rows as they lie in memory; operands are dense.
  std::int64_t a_stride() const { return transpose_a ? m() : k(); }
  std::int64_t b_stride() const { return transpose_b ? k() : n(); }

 private:
  // integer_matmul has no activation.
  static bool has_relu(const OpCall& call) {
    return call.attributes.find("activation") != nullptr &&
           call.attributes.text("activation") == "relu";
  }
  // [..., k] against one matrix is a single product of more rows.
  static TensorType flattened(const TensorType& type) {
    const Dim columns = type.shape.back();
    return {type.dtype,
            {product(type.shape.first(type.shape.rank() - 1)), columns}};
  }
};

// Which matrix of an operand each matrix of the result is made from: stacks
// broadcast as elements do.
inline std::vector<std::int64_t> matrix_offsets(const TensorType& operand,
                                                const TensorType& result) {
  const Shape& own = operand.shape;
  const Shape stack(result.shape.first(result.shape.rank() - 2));
  const BroadcastIndex index(Shape(own.first(own.rank() - 2)), stack);
  const std::int64_t size = own.back() * own[own.rank() - 2];
  std::vector<std::int64_t> offsets(at(stack.num_elements()));
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    offsets[i] = index(static_cast<std::int64_t>(i)) * size;
  }
  return offsets;
}

}  // namespace weft
