// Det, by elimination with pivots.
#include "weft/onnx/node.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/pick.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft::onnx {
namespace {

// Takes matrices [batch, n, n]; each step leaves one row and one column less.
Value determinant(Value x) {
  Value result;
  for (Dim n = x.shape()[1]; n > 0; --n) {
    const Dim batch = x.shape()[0];
    const Value column = reshape(slice_axis(x, 2, 0, 1), {batch, n});
    const Value place = reshape(argmax(abs(column), 1), {batch, 1, 1});
    const Value row = pick(x, broadcast_to(place, {batch, 1, n}), 1);
    const Value pivot = slice_axis(row, 2, 0, 1);
    // A row that was not the first changes places with it.
    const Value is_first = equal(place, scalar_like(place, 0));
    const Value factor =
        reshape(where(is_first, pivot, negate(pivot)), {batch});
    result = result.is_defined() ? result * factor : factor;
    if (n == 1) break;
    const Value number = reshape(iota(n), {1, n, 1});
    const Value rest = slice_axis(
        where(equal(number, place), slice_axis(x, 1, 0, 1), x), 1, 1, n);
    // A column of zeros alone leaves a determinant of 0, whatever follows.
    const Value divisor = where(equal(pivot, scalar_like(pivot, 0)),
                                scalar_like(pivot, 1), pivot);
    x = slice_axis(rest, 2, 1, n) -
        slice_axis(rest, 2, 0, 1) / divisor * slice_axis(row, 2, 1, n);
  }
  return result;
}

void import_det(OnnxNode& node) {
  const Value x = node.input(0);
  const Shape& s = x.shape();
  constexpr Dim kLargest = 32;
  if (s.rank() < 2) throw node.damaged("{} is no matrix", to_string(s));
  const Dim n = s[s.rank() - 1];
  if (is_symbolic(n) || n != s[s.rank() - 2] || n < 1 || n > kLargest) {
    throw node.unsupported("{}: sides must be known, equal and at most {}",
                           to_string(s), kLargest);
  }
  Shape batch;
  for (int i = 0; i < s.rank() - 2; ++i) batch.push_back(s[i]);
  node.set(reshape(determinant(reshape(x, {-1, n, n})), batch));
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_determinants(OnnxRegistry& ops) {
  ops.add({.name = "Det", .import = onnx::import_det});
}

}  // namespace weft
