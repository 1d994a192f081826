// Matrix products.
#include "weft/onnx/elementwise.h"
#include "weft/onnx/quantized.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/einsum.h"
#include "weft/ops/linalg.h"
#include "weft/ops/matmul.h"
#include "weft/ops/shape.h"
#include "weft/ops/unary.h"

namespace weft::onnx {
namespace {

// The engine multiplies floats; doubles hold all sums of 32-bit integers that
// anybody has.
Value product_of(const Value& a, const Value& b, MatmulOptions options = {}) {
  if (is_floating(a.dtype())) return matmul(a, b, options);
  return cast(matmul(cast(a, DType::kF64), cast(b, DType::kF64), options),
              a.dtype());
}

void import_matmul(OnnxNode& node) {
  if (const auto y = quantized_matmul(node.operand(0), node.operand(1))) {
    return node.set(*y);
  }
  node.set(product_of(node.input(0), node.input(1)));
}

// Weights that are known, as they are multiplied from the right.
OnnxValue right_factor(const OnnxValue& b, bool is_transposed) {
  const Quantized* quantized = b.quantized();
  if (quantized == nullptr || !is_transposed) return b;
  const ContextScope eager(eager_context());
  return OnnxValue::dequantized(
      transpose(b.plain()),
      {transpose(quantized->integers.plain()), quantized->scale,
       quantized->zero_point, quantized->axis == 0 ? 1 : 0});
}

// The product of quantized numbers, if it is one.
std::optional<Value> quantized_gemm(const OnnxNode& node) {
  const bool is_plain = node.integer("transA", 0) == 0 &&
                        node.real("alpha", 1) == 1 &&
                        node.operand(1).is_known();
  if (!is_plain || node.operand(1).quantized() == nullptr) return std::nullopt;
  return quantized_matmul(
      node.operand(0),
      right_factor(node.operand(1), node.integer("transB", 0) != 0));
}

void import_gemm(OnnxNode& node) {
  const double alpha = node.real("alpha", 1);
  const double beta = node.real("beta", 1);
  // Weights are transposed now, if they are known: products of a row prefer
  // them so.
  const bool transposes_b = node.integer("transB", 0) != 0;
  Value b = node.input(1);
  if (transposes_b && node.operand(1).is_known()) {
    const ContextScope eager(eager_context());
    b = transpose(b);
  }
  const bool is_left = transposes_b && !node.operand(1).is_known();
  const auto of_integers = quantized_gemm(node);
  Value y = of_integers
                ? *of_integers
                : product_of(node.input(0), b,
                             {.transpose_a = node.integer("transA", 0) != 0,
                              .transpose_b = is_left});
  if (alpha != 1) y = y * alpha;
  if (node.has(2)) {
    const Value c = node.input(2);
    y = y + (beta == 1 ? c : c * beta);
  }
  node.set(y);
}

void import_einsum(OnnxNode& node) {
  std::vector<Value> operands;
  for (std::size_t i = 0; i < node.operand_count(); ++i) {
    operands.push_back(node.input(i));
  }
  node.set(einsum(node.text("equation"), operands));
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_products(OnnxRegistry& ops) {
  using namespace onnx;
  ops.add({.name = "MatMul", .since = 1, .import = import_matmul});
  ops.add({.name = "Gemm", .since = 7, .import = import_gemm});
  ops.add({.name = "Einsum", .import = import_einsum});
}

}  // namespace weft
