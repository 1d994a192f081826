#include "weft/ops/support/elementwise.h"

#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/support/batching.h"
#include "weft/tensor/symbol.h"

namespace weft {

OpDef& add_floating_unary(OpRegistry& ops, const char* name) {
  return ops.add(name)
      .signature("(x) -> y")
      .traits(kElementwise)
      .infer(infer_floating_unary)
      .batch(batch_elementwise);
}

OpDef& add_number_unary(OpRegistry& ops, const char* name) {
  return ops.add(name)
      .signature("(x) -> y")
      .traits(kElementwise)
      .infer(infer_number_unary)
      .batch(batch_elementwise);
}

OpDef& add_binary(OpRegistry& ops, const char* name) {
  return ops.add(name)
      .signature("(a, b) -> y")
      .traits(kElementwise)
      .infer(infer_broadcast)
      .batch(batch_elementwise);
}

Shape broadcast_shapes(const OpCall& call) {
  int rank = 0;
  for (const TensorType& x : call.inputs) {
    rank = std::max(rank, x.shape.rank());
  }
  Shape result;
  // NumPy's rule: shapes are aligned at the last axis, and missing axes count
  // as 1.
  result.resize(rank, 1);
  for (const TensorType& x : call.inputs) {
    // Axes are counted from the last one, where the shapes are aligned.
    for (int back = 1; back <= x.shape.rank(); ++back) {
      const Dim dim = x.shape[x.shape.rank() - back];
      Dim& common = result[rank - back];
      if (dim == common || dim == 1) continue;
      // A symbolic dim fits itself and 1 only: whether it will be 1 is not
      // known.
      if (common != 1) {
        throw call
            .error("shapes do not broadcast: axis {} is {} and {}", -back,
                   to_string(common), to_string(dim))
            .hint("aligned at the last axis, dims must be equal or 1");
      }
      common = dim;
    }
  }
  return result;
}

void require_one_dtype(const OpCall& call, std::size_t first) {
  for (std::size_t i = first + 1; i < call.inputs.size(); ++i) {
    if (call.input(i).dtype == call.input(first).dtype) continue;
    throw call
        .error("operands must have one dtype, got {} and {}",
               to_string(call.input(first).dtype),
               to_string(call.input(i).dtype))
        .hint("convert one of them with cast()");
  }
}

void require_floating(const OpCall& call) {
  for (const TensorType& x : call.inputs) {
    if (is_floating(x.dtype)) continue;
    throw call.error("takes floating operands, got {}", to_string(x.dtype))
        .hint("convert it with cast()");
  }
}

void require_number(const OpCall& call) {
  for (const TensorType& x : call.inputs) {
    if (x.dtype != DType::kBool) continue;
    throw call.error("takes numbers, got bool")
        .hint("convert it with cast(), or use logical_and and friends");
  }
}

void require_bool(const OpCall& call, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (call.input(i).dtype == DType::kBool) continue;
    throw call
        .error("takes bool for {}, got {}", call.op.input_name(i),
               to_string(call.input(i).dtype))
        .hint("compare it first: not_equal(x, 0)");
  }
}

std::vector<TensorType> infer_broadcast(const OpCall& call) {
  require_one_dtype(call);
  require_number(call);
  return {{call.input(0).dtype, broadcast_shapes(call)}};
}

std::vector<TensorType> infer_comparison(const OpCall& call) {
  require_one_dtype(call);
  return {{DType::kBool, broadcast_shapes(call)}};
}

std::vector<TensorType> infer_floating_unary(const OpCall& call) {
  require_floating(call);
  return {call.input(0)};
}

std::vector<TensorType> infer_like_input(const OpCall& call) {
  return {call.input(0)};
}

std::vector<TensorType> infer_number_unary(const OpCall& call) {
  require_number(call);
  return {call.input(0)};
}

// A repetition's transpose is the sum over the copies, so this is the gradient
// of broadcasting.
Value sum_to(const Value& gradient, const Shape& shape) {
  // Gradient rules call this for every operand; mostly there is nothing to sum.
  const Shape& from = gradient.shape();
  if (from == shape) return gradient;
  const int extra = from.rank() - shape.rank();
  Integers axes;
  for (int axis = 0; axis < from.rank(); ++axis) {
    const bool is_new = axis < extra;
    // An axis that is 1 on both sides was not broadcast.
    if (is_new || (shape[axis - extra] == 1 && from[axis] != 1)) {
      axes.push_back(axis);
    }
  }
  // The axes stay at size 1 here, as the operand has some of them; new leading
  // ones go with the reshape.
  const Value summed = axes.empty() ? gradient : sum(gradient, axes, true);
  return summed.shape() == shape ? summed : reshape(summed, shape);
}

BroadcastIndex::BroadcastIndex(const Shape& from, const Shape& to) : to_(to) {
  // Axes that `from` lacks keep a stride of 0, as those of size 1 do.
  const auto strides = row_major_strides(from);
  const int extra = to.rank() - from.rank();
  for (int axis = 0; axis < from.rank(); ++axis) {
    // A stride of zero repeats the element.
    if (from[axis] == 1) continue;
    const auto i = static_cast<std::size_t>(axis);
    strides_[i + static_cast<std::size_t>(extra)] = strides[i];
  }
}

std::int64_t BroadcastIndex::operator()(std::int64_t index) const {
  std::int64_t offset = 0;
  for (int axis = to_.rank() - 1; axis >= 0; --axis) {
    // The index is taken apart from the last axis on, as row-major order has
    // it.
    offset += index % to_[axis] * strides_[static_cast<std::size_t>(axis)];
    index /= to_[axis];
  }
  return offset;
}

}  // namespace weft
