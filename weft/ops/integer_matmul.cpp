#include "weft/graph/registry.h"
#include "weft/ops/integer.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/product.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/support/small_integers.h"

namespace weft {
namespace {

std::vector<TensorType> infer_integer_matmul(const OpCall& call) {
  require_small_integers(call);
  return {{DType::kI32, product_shape(call)}};
}

void integer_matmul_reference(const OpCall& call,
                              std::span<const TensorView> inputs,
                              std::span<const TensorView> outputs) {
  // Sums are exact in i64 and stored as i32, which every kernel must then agree
  // with bit for bit.
  from_numbers(products<std::int64_t>(call, inputs), outputs[0]);
}

std::vector<Value> batch_integer_matmul(const BatchContext& g) {
  return {batch_product(g, [](const Value& a, const Value& b, bool transpose_a,
                              bool transpose_b) {
    return integer_matmul(a, b, {transpose_a, transpose_b});
  })};
}

std::vector<OpSample> integer_matmul_samples() {
  std::vector<OpSample> samples;
  const auto add = [&](const Shape& a, const Shape& b, DType left,
                       bool transpose_a = false, bool transpose_b = false) {
    const bool is_signed = left == DType::kI8;
    samples.push_back(
        {{integers(a, is_signed ? -128 : 0, is_signed ? 127 : 255, left),
          integers(b, -128, 127, DType::kI8)},
         {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}}});
  };
  for (const DType left : {DType::kI8, DType::kU8}) {
    add({3, 5}, {5, 4}, left);
    add({5, 3}, {5, 4}, left, true);
    add({3, 5}, {4, 5}, left, false, true);
    add({5, 3}, {4, 5}, left, true, true);
    add({2, 3, 5}, {5, 4}, left);
    add({2, 1, 3, 5}, {3, 5, 4}, left);
    add({3, 5}, {2, 4, 5}, left, false, true);
    add({1, 7}, {7, 1}, left);
    add({3, 0}, {0, 2}, left);
    add({0, 3}, {3, 2}, left);
    // Several blocks of rows, columns and sums, and a rest of each.
    add({67, 131}, {131, 75}, left);
    add({2, 33, 64}, {2, 64, 128}, left);
  }
  return samples;
}

std::string onnx_integer_factor(OnnxContext& c, std::size_t input,
                                bool is_transposed) {
  if (!is_transposed) return c.x(input);
  Integers order;
  for (int axis = 0; axis < c.type(input).shape.rank(); ++axis) {
    order.push_back(axis);
  }
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return transposed_operand(c, input, order);
}

void export_integer_matmul(OnnxContext& c) {
  const Attributes& a = c.attributes();
  c.set(c.emit("MatMulInteger",
               {onnx_integer_factor(c, 0, a.flag("transpose_a")),
                onnx_integer_factor(c, 1, a.flag("transpose_b"))}));
}

}  // namespace

void register_integer_matmul(OpRegistry& ops) {
  ops.add("integer_matmul")
      .summary("the product of matrices of i8 or u8 by i8, summed in i32")
      .signature("(a, b) -> y")
      .attribute("transpose_a", false)
      .attribute("transpose_b", false)
      .traits(kNoGradient)
      .infer(infer_integer_matmul)
      .reference(integer_matmul_reference)
      .batch(batch_integer_matmul)
      .onnx(export_integer_matmul)
      .cost(product_cost)
      .samples(integer_matmul_samples);
}

Value integer_matmul(const Operand& a, const Operand& b,
                     MatmulOptions options) {
  static const OpDef& op = op_registry().get("integer_matmul");
  return call(op, {a.value, b.value},
              {{"transpose_a", options.transpose_a},
               {"transpose_b", options.transpose_b}},
              a.location);
}

}  // namespace weft
