// Det, by elimination with pivots.
#include "weft/onnx/node.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/linalg.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/tensor/symbol.h"

namespace weft::onnx {
namespace {

void import_det(OnnxNode& node) {
  const Value x = node.input(0);
  const Shape& s = x.shape();
  if (s.rank() < 2) throw node.damaged("{} is no matrix", to_string(s));
  const Dim n = s[s.rank() - 1];
  if (is_symbolic(n) || n != s[s.rank() - 2]) {
    throw node.unsupported("{}: sides must be known and equal", to_string(s));
  }
  const auto [factors, order, sign] = lu(x);
  // Ones stand beside the diagonal, and leave products as they are.
  const Value is_diagonal = equal(reshape(iota(n), {n, 1}), iota(n));
  const Value diagonal = where(is_diagonal, factors, scalar_like(factors, 1));
  node.set(sign * product(diagonal, {-2, -1}));
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_determinants(OnnxRegistry& ops) {
  ops.add({.name = "Det", .import = onnx::import_det});
}

}  // namespace weft
