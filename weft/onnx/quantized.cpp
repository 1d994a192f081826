#include "weft/onnx/quantized.h"

#include <algorithm>

#include "weft/base/index.h"
#include "weft/onnx/convolution.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/integer.h"
#include "weft/ops/quantize.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/unary.h"

namespace weft::onnx {
namespace {

bool is_byte(const DType dtype) {
  return dtype == DType::kI8 || dtype == DType::kU8;
}

bool is_known(const Value& x) { return !x.is_staged(); }

// What follows from known values alone is computed now.
template <class Function>
Value folded(std::initializer_list<const Value*> from, Function&& function) {
  const bool all = std::ranges::all_of(
      from, [](const Value* each) { return is_known(*each); });
  const ContextScope scope(all ? eager_context() : current_context());
  return function();
}

Value wide(const Value& x) {
  return folded({&x}, [&] { return to_dtype(x, DType::kI32); });
}

// Whether a zero point makes no difference.
bool is_zero(const Value& zero_point) {
  if (!zero_point.is_defined()) return true;
  if (!is_known(zero_point)) return false;
  const Tensor& tensor = zero_point.tensor();
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    if (tensor.item(i) != 0) return false;
  }
  return true;
}

// Kernels take i8 on the right: what is u8 is moved by 128, and so is its zero
// point.
struct Signed {
  Value numbers;     // i8
  Value zero_point;  // i32; undefined: 0
};

Signed signed_form(const Value& x, const Value& zero_point) {
  Value zero = zero_point.is_defined() ? wide(zero_point) : Value();
  if (x.dtype() == DType::kI8) return {x, zero};
  const Value moved = folded(
      {&x}, [&] { return cast(cast(x, DType::kI32) - 128, DType::kI8); });
  if (!zero.is_defined()) return {moved, Tensor::scalar(std::int32_t{-128})};
  return {moved, folded({&zero}, [&] { return zero - 128; })};
}

}  // namespace

Value integer_product(const Value& a, const Value& za, const Value& b,
                      const Value& zb) {
  const Signed right = signed_form(b, zb);
  const Value left_zero = is_zero(za) ? Value() : wide(za);
  const Value right_zero =
      is_zero(right.zero_point) ? Value() : right.zero_point;
  Value product = integer_matmul(a, right.numbers);
  const int rank = b.shape().rank();
  if (left_zero.is_defined()) {
    // One zero point for each row stands beside the columns' sums.
    const Value rows =
        left_zero.shape().rank() == 1 && left_zero.shape()[0] != 1
            ? reshape(left_zero, {left_zero.shape()[0], 1})
            : left_zero;
    Value sums = folded({&right.numbers}, [&] {
      return sum(wide(right.numbers), {rank - 2}, true);
    });
    if (right_zero.is_defined()) {
      const Value all = folded({&right_zero}, [&] {
        return right_zero *
               cast(element_count({b.shape()[rank - 2]}, DType::kI64),
                    DType::kI32);
      });
      sums = folded({&sums, &all}, [&] { return sums - all; });
    }
    product = product - rows * sums;
  }
  if (right_zero.is_defined()) {
    const Value sums = sum(wide(a), {a.shape().rank() - 1}, true);
    product = product - sums * right_zero;
  }
  return product;
}

Value integer_convolution(const Value& x, const Value& zx, const OnnxValue& w,
                          const Value& zw, const Windows& windows,
                          std::int64_t groups) {
  Windows inner = windows;
  Value image = x;
  if (!is_zero(zx)) {
    if (!is_known(zx) || zx.tensor().size() != 1) {
      throw Error(
          ErrorCode::kUnsupported, "ConvInteger",
          "the image's zero point is computed from inputs of the graph, "
          "but shapes and constants must not depend on them");
    }
    // Beyond the image lies 0, which the zero point stands for.
    Integers low(at(x.shape().rank()), 0);
    Integers high = low;
    for (std::size_t i = 0; i < windows.size(); ++i) {
      low[i + 1] = std::exchange(inner[i].before, 0);
      high[i + 1] = std::exchange(inner[i].after, 0);
    }
    image = pad(x, low, high, zx.tensor().item());
  }
  const Signed weights = signed_form(kernel_last(w), zw);
  const Value& kernel = weights.numbers;
  Value y = convolution(image, kernel, inner, groups, integer_conv2d);
  Integers taps(at(kernel.shape().rank() - 1));
  for (std::size_t i = 0; i < taps.size(); ++i) {
    taps[i] = static_cast<std::int64_t>(i);
  }
  const bool has_weight_zero = !is_zero(weights.zero_point);
  if (!is_zero(zx)) {
    Value sums = folded({&kernel}, [&] { return sum(wide(kernel), taps); });
    if (has_weight_zero) {
      const Shape seen(kernel.shape().first(kernel.shape().rank() - 1));
      const auto count = static_cast<double>(seen.num_elements());
      sums = folded({&sums, &weights.zero_point},
                    [&] { return sums - weights.zero_point * count; });
    }
    y = y - folded({&sums, &zx}, [&] { return sums * wide(zx); });
  }
  if (has_weight_zero) {
    // The sum of what each window sees, by weights that are all one.
    const Value ones = Tensor::zeros(kernel.type());
    std::fill_n(static_cast<std::int8_t*>(ones.tensor().raw()),
                ones.tensor().size(), std::int8_t{1});
    y = y - convolution(image, ones, inner, groups, integer_conv2d) *
                weights.zero_point;
  }
  return y;
}

namespace {

bool is_scalar_scale(const Value& scale) {
  return is_known(scale) && scale.tensor().size() == 1;
}

Value as_scalar(const Value& scale) {
  return folded({&scale}, [&] { return reshape(scale, {}); });
}

// What a product's sums are multiplied by, in each column.
Value joint_scale(const Value& left, const Value& right) {
  return folded({&left, &right}, [&] {
    const Value both = as_scalar(left) * right;
    return both.tensor().size() == 1 ? reshape(both, {}) : both;
  });
}

}  // namespace

std::optional<Value> quantized_convolution(const OnnxValue& x,
                                           const OnnxValue& w,
                                           const Windows& windows,
                                           std::int64_t groups) {
  const Quantized* qx = x.quantized();
  const Quantized* qw = w.quantized();
  if (qx == nullptr || qw == nullptr || qx->scale.dtype() != DType::kF32) {
    return std::nullopt;
  }
  const bool fits =
      is_byte(qx->integers.type().dtype) &&
      is_byte(qw->integers.type().dtype) && qw->integers.is_known() &&
      is_scalar_scale(qx->scale) && is_known(qw->scale) &&
      (!qx->zero_point.is_defined() || is_known(qx->zero_point)) &&
      (qw->scale.tensor().size() == 1 || qw->axis == 0);
  if (!fits) return std::nullopt;
  const Value zx =
      qx->zero_point.is_defined() ? as_scalar(qx->zero_point) : Value();
  const Value sums = integer_convolution(qx->integers.last(), zx, qw->integers,
                                         qw->zero_point, windows, groups);
  return dequantize(sums, joint_scale(qx->scale, qw->scale));
}

std::optional<Value> quantized_matmul(const OnnxValue& a, const OnnxValue& b) {
  const Quantized* qa = a.quantized();
  const Quantized* qb = b.quantized();
  if (qa == nullptr || qb == nullptr || qa->scale.dtype() != DType::kF32) {
    return std::nullopt;
  }
  const int rank = b.rank();
  const bool fits =
      a.rank() >= 2 && rank == 2 && is_byte(qa->integers.type().dtype) &&
      is_byte(qb->integers.type().dtype) && qb->integers.is_known() &&
      is_scalar_scale(qa->scale) && is_known(qb->scale) &&
      (!qa->zero_point.is_defined() || is_known(qa->zero_point)) &&
      (qb->scale.tensor().size() == 1 || qb->axis == rank - 1);
  if (!fits) return std::nullopt;
  const Value za =
      qa->zero_point.is_defined() ? as_scalar(qa->zero_point) : Value();
  const Value sums = integer_product(qa->integers.plain(), za,
                                     qb->integers.plain(), qb->zero_point);
  return dequantize(sums, joint_scale(qa->scale, qb->scale));
}

}  // namespace weft::onnx
