#include "weft/ops/matmul.h"

#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/shape.h"
#include "weft/ops/support/activation.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/doubles.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/product.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

std::vector<TensorType> infer_matmul(const OpCall& call) {
  const TensorType& a = call.input(0);
  require_floating(call);
  if (a.dtype != call.input(1).dtype) {
    throw call.error("operands differ in dtype");
  }
  const Shape shape = product_shape(call);
  check_tail(call, shape.back());
  return {{a.dtype, shape}};
}

void matmul_reference(const OpCall& call, std::span<const TensorView> inputs,
                      std::span<const TensorView> outputs) {
  // Products are summed in double: what kernels are compared with must be more
  // exact than they are.
  auto y = products<double>(call, inputs);
  const auto bias =
      inputs.size() > 2 ? to_doubles(inputs[2]) : std::vector<double>{};
  apply_tail(call, bias, y);
  from_doubles(y, outputs[0]);
}

// [..., k] as a matrix, so that a batch of rows against one matrix is one
// product instead of many.
Value as_matrix(const Value& x) {
  const Shape& shape = x.shape();
  if (shape.rank() == 2) return x;
  return reshape(x, {dim_product(shape.first(shape.rank() - 1)), shape.back()});
}

// With A = op(a) and B = op(b): dA = dy Bᵀ and dB = Aᵀ dy, each stored the
// way its operand is.
Gradients matmul_gradient(const GradientContext& g) {
  const bool ta = g.attributes().flag("transpose_a");
  const bool tb = g.attributes().flag("transpose_b");
  const Value dy = tail_gradient(g);
  const Value& a = g.x(0);
  const Value& b = g.x(1);
  // One matrix against a stack: its gradient is a sum over the stack, which a
  // product over all rows takes by itself. (Where a is stored transposed, its
  // rows do not lie behind each other.)
  const bool is_flat = b.shape().rank() == 2 && !ta;
  const Value rows = is_flat ? as_matrix(a) : a;
  const Value dy_rows = is_flat ? as_matrix(dy) : dy;
  // An operand that is stored as Bᵀ has the gradient (Aᵀ dy)ᵀ = dyᵀ A: flags
  // say so, and no transposition is computed. Steps run in this order, and b is
  // mostly a weight, whose gradient can be sent while the other is computed.
  const Value db = tb ? matmul(dy_rows, rows, {true, ta})
                      : matmul(rows, dy_rows, {!ta, false});
  // The same rule gives Aᵀ the gradient (dy Bᵀ)ᵀ = B dyᵀ.
  const Value da = ta ? matmul(b, dy, {tb, true}) : matmul(dy, b, {false, !tb});
  // Leading dims that were broadcast are summed over.
  Gradients gradients = {sum_to(da, a.shape()), sum_to(db, b.shape())};
  add_bias_gradient(g, dy, gradients);
  return gradients;
}

std::vector<Value> batch(const BatchContext& g) {
  // The bias and the activation come apart from the product, as each instance
  // may have a bias of its own.
  Value y = batch_product(g, [](const Value& left, const Value& right,
                                bool transpose_a, bool transpose_b) {
    return matmul(left, right, {transpose_a, transpose_b});
  });
  if (g.call().has_input(2)) {
    const int rank = g.call().outputs[0].shape.rank();
    y = y + cast(aligned(g, 2, rank), y.dtype());
  }
  if (g.attributes().text("activation") == "relu") y = relu(y);
  return {y};
}

// Σ Aᵀ B over instances is one product: its inner dim runs over the rows of all
// of them. With k as the columns of A, Σ A_b B_b = [A_1 A_2 …] [B_1; B_2; …].
std::vector<Value> sum_of_products(const BatchContext& g) {
  // Neither a relu nor a bias per instance passes through the sum.
  if (has_tail(g.call())) return {};
  if (!g.is_batched(0) || !g.is_batched(1)) return sum_of_multilinear(g);
  if (g.call().input(0).shape.rank() != 2 ||
      g.call().input(1).shape.rank() != 2) {
    // Flattening would sum over the operands' own leading dims as well.
    return {};
  }
  const Value a = g.attributes().flag("transpose_a")
                      ? g.x(0)
                      : with_last_axes_swapped(g.x(0));
  const Value b = g.attributes().flag("transpose_b")
                      ? with_last_axes_swapped(g.x(1))
                      : g.x(1);
  const Value rows_of_a = as_matrix(a);
  return {matmul(rows_of_a, as_matrix(b), {true, false})};
}

Value reshaped(const Value& x, const Shape& shape, const Location& where) {
  static const OpDef& op = op_registry().get("reshape");
  return call(op, {&x}, {{"shape", shape}}, where);
}

// Each operand is transposed and is a stack that the other broadcasts to; each
// tail follows, and sums may have no terms.
std::vector<OpSample> matmul_samples() {
  const auto f32 = [](Shape shape) {
    return InputSample{{DType::kF32, shape}};
  };
  const auto bf16 = [](Shape shape) {
    return InputSample{{DType::kBF16, shape}};
  };
  return {
      {{f32({3, 5}), f32({5, 4})}, {}},
      {{f32({5, 3}), f32({5, 4})}, {{"transpose_a", true}}},
      {{f32({3, 5}), f32({4, 5})}, {{"transpose_b", true}}},
      {{f32({5, 3}), f32({4, 5})},
       {{"transpose_a", true}, {"transpose_b", true}}},
      {{f32({2, 3, 5}), f32({5, 4})}, {}},
      {{f32({2, 1, 3, 5}), f32({3, 5, 4})}, {}},
      {{f32({3, 5}), f32({2, 4, 5})}, {{"transpose_b", true}}},
      {{f32({3, 5}), f32({5, 4}), f32({4})}, {}},
      {{f32({3, 5}), f32({5, 4}), f32({4})},
       {{"activation", std::string("relu")}}},
      {{f32({1, 7}), f32({7, 1})}, {}},
      {{f32({3, 0}), f32({0, 2})}, {}},
      {{f32({0, 3}), f32({3, 2})}, {}},
      {{bf16({3, 8}), bf16({8, 4})}, {}},
      {{bf16({3, 8}), bf16({8, 4}), f32({4})}, {}},
  };
}

// Matrices with their last two axes exchanged.
std::string onnx_factor(OnnxContext& c, std::size_t input, bool is_transposed) {
  const int rank = c.type(input).shape.rank();
  const DType dtype = c.type(input).dtype;
  WEFT_CHECK(is_floating(dtype));
  if (!is_transposed) return c.x(input);
  Integers order;
  for (int axis = 0; axis < rank; ++axis) order.push_back(axis);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return transposed_operand(c, input, order);
}

void export_matmul(OnnxContext& c) {
  const Attributes& a = c.attributes();
  std::string y = c.emit("MatMul", {onnx_factor(c, 0, a.flag("transpose_a")),
                                    onnx_factor(c, 1, a.flag("transpose_b"))});
  if (c.input_count() > 2) {
    std::string bias = c.x(2);
    if (c.type(2).dtype != c.type(0).dtype) {
      bias = c.emit("Cast", {bias}, {{"to", c.type(0).dtype}});
    }
    y = c.emit("Add", {y, bias});
  }
  c.set(with_onnx_activation(c, y));
}

}  // namespace

void register_matmul(OpRegistry& ops) {
  ops.add("matmul")
      .summary("the product of matrices, leading dims broadcast")
      .signature("(a, b, bias?) -> y")
      .attribute("transpose_a", false)
      .attribute("transpose_b", false)
      .attribute("activation", std::string("none"))
      .infer(infer_matmul)
      .reference(matmul_reference)
      .gradient(matmul_gradient)
      .batch(batch, sum_of_products)
      .onnx(export_matmul)
      .cost(product_cost)
      .samples(matmul_samples);
}

Value matmul(const Operand& a, const Operand& b, MatmulOptions options) {
  return matmul(*a.value, *b.value, options, a.location);
}

Value matmul(const Value& a, const Value& b, MatmulOptions options,
             const Location& where) {
  static const OpDef& op = op_registry().get("matmul");
  const bool is_row = a.shape().rank() == 1;
  const bool is_column = b.shape().rank() == 1;
  if ((is_row && options.transpose_a) || (is_column && options.transpose_b)) {
    throw Error(ErrorCode::kInvalidArgument, "matmul",
                "a vector has no axes to transpose");
  }
  const Value left = is_row ? reshaped(a, {1, a.shape().back()}, where) : a;
  const Value right = is_column ? reshaped(b, {b.shape().back(), 1}, where) : b;
  Value y = call(op, {&left, &right},
                 {{"transpose_a", options.transpose_a},
                  {"transpose_b", options.transpose_b}},
                 where);
  if (!is_row && !is_column) return y;
  const int rank = y.shape().rank();
  Shape shape(y.shape().first(rank - 2));
  if (!is_row) shape.push_back(y.shape()[rank - 2]);
  if (!is_column) shape.push_back(y.shape()[rank - 1]);
  return reshaped(y, shape, where);
}

}  // namespace weft
