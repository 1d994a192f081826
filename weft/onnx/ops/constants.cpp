// Values that need no operand, or only the shape of one, and casts.
#include <bit>
#include <cmath>

#include "weft/onnx/elementwise.h"
#include "weft/onnx/extents.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/index.h"
#include "weft/ops/random.h"
#include "weft/ops/shape.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft::onnx {
namespace {

void import_constant(OnnxNode& node) {
  if (node.has_attribute("value")) return node.set(Value(node.tensor("value")));
  if (node.has_attribute("value_float")) {
    return node.set(
        Value(Tensor::scalar(static_cast<float>(node.real("value_float")))));
  }
  if (node.has_attribute("value_int")) {
    return node.set(Value(Tensor::scalar(node.integer("value_int"))));
  }
  if (node.has_attribute("value_floats")) {
    const std::vector<float> all = node.reals("value_floats");
    return node.set(Value(Tensor::of<float>({static_cast<Dim>(all.size())},
                                            std::span<const float>(all))));
  }
  if (node.has_attribute("value_ints")) {
    const Integers all = node.integers("value_ints");
    return node.set(Value(Tensor::of<std::int64_t>(
        {static_cast<Dim>(all.size())}, std::span<const std::int64_t>(all))));
  }
  throw node.unsupported("a constant of texts, or a sparse one");
}

void import_constant_of_shape(OnnxNode& node) {
  const Shape shape = shape_of(node.extents(0));
  Tensor value = Tensor::scalar(0.0f);
  if (node.has_attribute("value")) value = node.tensor("value");
  if (value.size() != 1) throw node.damaged("'value' is not one element");
  const Value one = Value(value).tensor().reshape({});
  // A few numbers are a constant; many are made where they are needed.
  const bool is_small = shape.is_static() && dim_product(shape.dims()) <= 1024;
  const ContextScope scope(is_small ? eager_context() : node.graph_context());
  if (value.dtype() == DType::kBool || value.dtype() == DType::kI64) {
    return node.set(broadcast_to(one, shape));
  }
  node.set(full({value.dtype(), shape}, value.item()));
}

// start, start + delta, … below the limit.
void import_range(OnnxNode& node) {
  const auto start = node.operand(0).extents();
  const auto limit = node.operand(1).extents();
  const DType dtype = node.operand(0).type().dtype;
  if (limit && limit->size() == 1 && (*limit)[0].is_symbolic) {
    if (!start || *start != Extents{{0}} || node.known_integer(2) != 1) {
      throw node.unsupported(
          "counts to a size that is not known, but not from "
          "0 in steps of 1");
    }
    return node.set(iota((*limit)[0].value, dtype));
  }
  const double from = node.known_real(0);
  const double step = node.known_real(2);
  const double count = std::ceil((node.known_real(1) - from) / step);
  constexpr double kMost = 1 << 28;
  if (!(count <= kMost)) throw node.damaged("has {} numbers", count);
  const Dim size = count > 0 ? static_cast<Dim>(count) : 0;
  const Value steps = iota(size, is_floating(dtype) ? dtype : DType::kI64);
  node.set(to_dtype(steps * step + from, dtype));
}

void import_eye_like(OnnxNode& node) {
  const TensorType type = node.operand(0).type();
  if (type.shape.rank() != 2) throw node.damaged("is like no matrix");
  const Value row = reshape(iota(type.shape[0]), {type.shape[0], 1});
  const Value column = iota(type.shape[1]);
  const auto offset = static_cast<double>(node.integer("k", 0));
  node.set(cast(equal(column, row + offset), node.dtype("dtype", type.dtype)));
}

// --- Casts -------------------------------------------------------------------

Value converted(const Value& x, DType dtype) {
  // Every number but 0 is true.
  if (dtype == DType::kBool && x.dtype() != DType::kBool) {
    return not_equal(x, scalar_like(x, 0));
  }
  return to_dtype(x, dtype);
}

void set_converted(OnnxNode& node, DType dtype) {
  const OnnxValue& x = node.operand(0);
  if (x.is_symbolic() && is_integer(dtype)) {
    return node.set(OnnxValue::of(*x.extents(), x.rank() == 0, dtype));
  }
  const InPlace from(x);
  node.set(from.result(converted(from.value, dtype)));
}

void import_cast(OnnxNode& node) {
  if (!node.has_attribute("to")) throw node.damaged("'to' is missing");
  set_converted(node, node.dtype("to", DType::kF32));
}

void import_cast_like(OnnxNode& node) {
  set_converted(node, node.operand(1).type().dtype);
}

// The bits of another dtype: of those of 8 bits, which a cast keeps.
void import_bit_cast(OnnxNode& node) {
  const DType from = node.operand(0).type().dtype;
  const DType to = node.dtype("to", from);
  if (from == to) return node.set(node.operand(0));
  if (size_of(from) != 1 || size_of(to) != 1 || to == DType::kBool) {
    throw node.unsupported("takes the bits of {} for {}", to_string(from),
                           to_string(to));
  }
  set_converted(node, to);
}

void import_one_hot(OnnxNode& node) {
  const Value indices = node.input(0);
  const std::int64_t depth = static_cast<std::int64_t>(node.known_real(1));
  const Value values = node.input(2);
  const int rank = indices.shape().rank() + 1;
  const int axis = node.axis("axis", -1, rank);
  if (depth < 1) throw node.damaged("a depth of {}", depth);
  Shape apart;
  for (int i = 0, next = 0; i < rank; ++i) {
    apart.push_back(i == axis ? 1 : indices.shape()[next++]);
  }
  Shape along;
  along.resize(rank, 1);
  along[axis] = depth;
  // Negative ones count from the end; those outside name no place.
  const Value at = reshape(to_dtype(indices, DType::kI64), apart);
  const Value from_end = where(less(at, scalar(0, DType::kI64)),
                               at + static_cast<double>(depth), at);
  const Value is_here = equal(from_end, reshape(iota(depth), along));
  const auto value = [&](std::int64_t i) {
    return reshape(gather(values, Value(Tensor::scalar(i))), {});
  };
  node.set(where(is_here, value(1), value(0)));
}

// --- Random numbers ----------------------------------------------------------

// Each run draws the same numbers, other ones than other programs draw: ONNX
// says how numbers are distributed, and not which they are.
Value random_key(const OnnxNode& node) {
  // It is a number of either kind, by the op.
  const auto seed = node.number("seed", 0);
  return Tensor::of<std::int64_t>({2}, {std::bit_cast<std::int64_t>(seed), 0});
}

TensorType random_type(const OnnxNode& node, bool like) {
  if (like) {
    const TensorType type = node.operand(0).type();
    return {node.dtype("dtype", type.dtype), type.shape};
  }
  Extents extents;
  for (const std::int64_t dim : node.integers("shape")) {
    extents.push_back({dim});
  }
  return {node.dtype("dtype", DType::kF32), shape_of(extents)};
}

template <bool kLike>
void import_random_uniform(OnnxNode& node) {
  const TensorType type = random_type(node, kLike);
  const double low = node.real("low", 0);
  const double high = node.real("high", 1);
  node.set(uniform(random_key(node), type.shape, 0, type.dtype) * (high - low) +
           low);
}

template <bool kLike>
void import_random_normal(OnnxNode& node) {
  const TensorType type = random_type(node, kLike);
  node.set(normal(random_key(node), type.shape, 0, type.dtype) *
               node.real("scale", 1) +
           node.real("mean", 0));
}

void import_bernoulli(OnnxNode& node) {
  const Value p = node.input(0);
  const Value drawn = uniform(random_key(node), p.shape(), 0, p.dtype());
  node.set(converted(less(drawn, p), node.dtype("dtype", p.dtype())));
}

// Dropout is of training; a model that is imported is in use, unless it says
// otherwise.
void import_dropout(OnnxNode& node) {
  const OnnxValue& x = node.operand(0);
  const bool trains = node.has(2) && node.known_real(2) != 0;
  const double rate = node.has(1) ? node.known_real(1) : 0.5;
  if (trains && rate != 0) {
    const Value draws = uniform(random_key(node), x.type().shape, 0);
    const Value stays = greater_equal(draws, scalar(rate, DType::kF32));
    const Value value = x.plain();
    node.set(0, where(stays, value / (1 - rate), full({value.dtype(), {}}, 0)));
    if (node.wants(1)) node.set(1, stays);
    return;
  }
  node.set(0, x);
  if (node.wants(1)) {
    const Value all = broadcast_to(Value(Tensor::scalar(true)), x.type().shape);
    node.set(1, all);
  }
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_constants(OnnxRegistry& ops) {
  using namespace onnx;
  ops.add({.name = "Constant", .since = 1, .import = import_constant});
  ops.add({.name = "ConstantOfShape", .import = import_constant_of_shape});
  ops.add({.name = "Range", .import = import_range});
  ops.add({.name = "EyeLike", .import = import_eye_like});
  ops.add({.name = "Cast", .since = 6, .import = import_cast});
  ops.add({.name = "BitCast", .import = import_bit_cast});
  ops.add({.name = "CastLike", .import = import_cast_like});
  ops.add({.name = "OneHot", .import = import_one_hot});
  ops.add({.name = "RandomUniform",
           .import = import_random_uniform<false>,
           .is_random = true});
  ops.add({.name = "RandomUniformLike",
           .import = import_random_uniform<true>,
           .is_random = true});
  ops.add({.name = "RandomNormal",
           .import = import_random_normal<false>,
           .is_random = true});
  ops.add({.name = "RandomNormalLike",
           .import = import_random_normal<true>,
           .is_random = true});
  ops.add({.name = "Bernoulli", .import = import_bernoulli, .is_random = true});
  ops.add({.name = "Dropout", .import = import_dropout, .is_random = true});
}

}  // namespace weft
