// Reductions, and order along an axis.
#include <algorithm>
#include <limits>

#include "weft/base/index.h"
#include "weft/onnx/elementwise.h"
#include "weft/onnx/extents.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/reduce.h"
#include "weft/ops/running.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/sort.h"
#include "weft/ops/unary.h"

namespace weft::onnx {
namespace {

using Reduce = Value (*)(const Value& x, const Integers& axes, bool keep);

// Numbers of a shape whose product or sum is taken: how many elements there
// are.
bool set_reduced_extents(OnnxNode& node,
                         std::optional<Extent> (*combine)(Extent, Extent),
                         std::int64_t first) {
  const OnnxValue& x = node.operand(0);
  if (!x.is_symbolic() || combine == nullptr) return false;
  Extent total{first};
  const Extents all = *x.extents();
  for (const Extent& each : all) {
    const auto next = combine(total, each);
    if (!next) return false;
    total = *next;
  }
  const bool keep = x.rank() == 1 && node.integer("keepdims", 1) != 0;
  node.set(OnnxValue::of({total}, !keep, x.type().dtype));
  return true;
}

// Reduces over the axes of the node's attribute or operand; without them over
// all, unless it says that then nothing is reduced.
void set_reduced(OnnxNode& node, Reduce reduce) {
  const OnnxValue& x = node.operand(0);
  const int rank = x.rank();
  std::optional<Integers> given = node.integers("axes", 1);
  const bool keep = node.integer("keepdims", 1) != 0;
  Integers axes = given.value_or(Integers{});
  if (axes.empty()) {
    if (node.integer("noop_with_empty_axes", 0) != 0) {
      // The op's function of each element stays: a square of one element.
      const InPlace place(x);
      Shape apart = place.value.shape();
      if (apart.rank() == Shape::kMaxRank) return node.set(x);
      apart.push_back(1);
      return node.set(place.result(
          reduce(reshape(place.value, apart), {apart.rank() - 1}, false)));
    }
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  // All axes of a scalar are none, which means all of them to the engine too.
  for (std::int64_t& axis : axes) axis = normalize_axis(axis, rank, node.op());
  std::ranges::sort(axes);
  // Without the pixels, batch and channels stand in ONNX's order.
  Integers pixels;
  for (int axis = 2; axis < rank; ++axis) pixels.push_back(axis);
  if (x.is_channels_last() && (keep || axes == pixels)) {
    const InPlace place(x);
    for (std::int64_t& axis : axes) axis = place.axis(axis);
    const Value made = reduce(place.value, axes, keep);
    return node.set(keep ? place.result(made) : OnnxValue(made));
  }
  node.set(reduce(x.plain(), axes, keep));
}

// What no number of the dtype falls below, or exceeds. The greatest i64 is no
// double, so integers are made of their own.
template <bool kIsMax>
Value bound_like(const Value& x, const Shape& shape) {
  return dispatch(x.dtype(), [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      const T bound = kIsMax ? Limits::lowest() : Limits::max();
      return full({x.dtype(), shape}, 0) + Value(Tensor::scalar(bound));
    } else {
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      return full({x.dtype(), shape}, kIsMax ? -kInfinity : kInfinity);
    }
  });
}

// An extremum over no elements is what no element can exceed.
template <Value (*kReduce)(const Operand&, Integers, bool), bool kIsMax>
Value extremum(const Value& x, const Integers& axes, bool keep) {
  const bool is_truth = x.dtype() == DType::kBool;
  const Value numbers = is_truth ? cast(x, DType::kU8) : x;
  bool is_empty = false;
  Shape kept = x.shape();
  for (const std::int64_t axis : axes) {
    is_empty = is_empty || kept[static_cast<int>(axis)] == 0;
    kept[static_cast<int>(axis)] = 1;
  }
  if (is_empty) {
    const Value least = bound_like<kIsMax>(numbers, kept);
    const Value all = keep ? least : sum(least, axes, false);
    return to_dtype(all, x.dtype());
  }
  const Value made = kReduce(numbers, axes, keep);
  return is_truth ? not_equal(made, scalar_like(made, 0)) : made;
}

template <Value (*kReduce)(const Operand&, Integers, bool)>
Value plain_reduction(const Value& x, const Integers& axes, bool keep) {
  return kReduce(x, axes, keep);
}

Value mean_of(const Value& x, const Integers& axes, bool keep) {
  if (is_floating(x.dtype())) return mean(x, axes, keep);
  return cast(mean(cast(x, DType::kF64), axes, keep), x.dtype());
}

Value sum_of_magnitudes(const Value& x, const Integers& axes, bool keep) {
  return sum(abs(x), axes, keep);
}

Value sum_of_squares(const Value& x, const Integers& axes, bool keep) {
  return sum(square(x), axes, keep);
}

Value euclidean_norm(const Value& x, const Integers& axes, bool keep) {
  if (is_floating(x.dtype())) return sqrt(sum_of_squares(x, axes, keep));
  return cast(sqrt(cast(sum_of_squares(x, axes, keep), DType::kF64)),
              x.dtype());
}

Value log_of_sum(const Value& x, const Integers& axes, bool keep) {
  return log(sum(x, axes, keep));
}

// The largest is taken out first, so that exp does not overflow.
Value log_of_sum_of_exp(const Value& x, const Integers& axes, bool keep) {
  Shape kept = x.shape();
  bool is_empty = false;
  for (const std::int64_t axis : axes) {
    is_empty = is_empty || kept[static_cast<int>(axis)] == 0;
  }
  if (is_empty) return log(sum(exp(x), axes, keep));
  const Value most = reduce_max(x, axes, true);
  const Value finite = where(is_finite(most), most, scalar_like(most, 0));
  const Value inner = log(sum(exp(x - finite), axes, true)) + finite;
  return keep ? inner : sum(inner, axes, false);
}

template <Reduce kReduce>
void import_reduction(OnnxNode& node) {
  set_reduced(node, kReduce);
}

void import_reduce_sum(OnnxNode& node) {
  if (!set_reduced_extents(node, extent_add, 0)) {
    set_reduced(node, plain_reduction<sum>);
  }
}

void import_reduce_prod(OnnxNode& node) {
  if (!set_reduced_extents(node, extent_multiply, 1)) {
    set_reduced(node, plain_reduction<product>);
  }
}

// The last of equal ones is the first from the end.
template <Value (*kArgument)(const Operand&, std::int64_t, bool)>
void import_argument(OnnxNode& node) {
  const InPlace x(node.operand(0));
  const int onnx_axis = node.axis("axis", 0, x.value.shape().rank());
  const bool keep = node.integer("keepdims", 1) != 0;
  const Value source = keep ? x.value : node.input(0);
  const int axis = keep ? x.axis(onnx_axis) : onnx_axis;
  Value found;
  if (node.integer("select_last_index", 0) != 0) {
    const Dim size = source.shape()[axis];
    if (is_symbolic(size)) throw node.unsupported("the last of {}", size);
    found = static_cast<double>(size - 1) -
            kArgument(reverse(source, {axis}), axis, keep);
  } else {
    found = kArgument(source, axis, keep);
  }
  node.set(keep ? x.result(found) : OnnxValue(found));
}

template <Value (*kRun)(const Operand&, std::int64_t, bool, bool)>
void import_running(OnnxNode& node) {
  const Value x = node.input(0);
  const std::int64_t axis = node.known_integer(1);
  node.set(kRun(x, normalize_axis(axis, x.shape().rank(), node.op()),
                node.integer("exclusive", 0) != 0,
                node.integer("reverse", 0) != 0));
}

// The least are the greatest of what is turned around.
void import_top_k(OnnxNode& node) {
  const Value x = node.input(0);
  const int axis = node.axis("axis", -1, x.shape().rank());
  const std::int64_t k =
      node.opset() < 10 ? node.integer("k") : node.known_integer(1);
  if (node.integer("largest", 1) != 0) {
    const auto [values, positions] = top_k(x, k, axis);
    node.set(0, values);
    node.set(1, positions);
    return;
  }
  const auto [values, positions] = sort(x, false, axis);
  node.set(0, slice_axis(values, axis, 0, k));
  node.set(1, slice_axis(positions, axis, 0, k));
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_reductions(OnnxRegistry& ops) {
  using namespace onnx;
  ops.add({.name = "ReduceSum", .import = import_reduce_sum});
  ops.add({.name = "ReduceProd", .import = import_reduce_prod});
  ops.add({.name = "ReduceMean", .import = import_reduction<mean_of>});
  ops.add({.name = "ReduceMax",
           .import = import_reduction<extremum<reduce_max, true>>});
  ops.add({.name = "ReduceMin",
           .import = import_reduction<extremum<reduce_min, false>>});
  ops.add({.name = "ReduceL1", .import = import_reduction<sum_of_magnitudes>});
  ops.add({.name = "ReduceL2", .import = import_reduction<euclidean_norm>});
  ops.add(
      {.name = "ReduceSumSquare", .import = import_reduction<sum_of_squares>});
  ops.add({.name = "ReduceLogSum", .import = import_reduction<log_of_sum>});
  ops.add({.name = "ReduceLogSumExp",
           .import = import_reduction<log_of_sum_of_exp>});
  ops.add({.name = "ArgMax", .import = import_argument<argmax>});
  ops.add({.name = "ArgMin", .import = import_argument<argmin>});
  ops.add({.name = "CumSum", .import = import_running<cumsum>});
  ops.add({.name = "CumProd", .import = import_running<cumprod>});
  ops.add({.name = "TopK", .import = import_top_k});
}

}  // namespace weft
