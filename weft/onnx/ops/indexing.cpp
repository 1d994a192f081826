// Elements by index.
#include <algorithm>

#include "weft/base/index.h"
#include "weft/onnx/elementwise.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/control.h"
#include "weft/ops/dynamic_slice.h"
#include "weft/ops/index.h"
#include "weft/ops/join.h"
#include "weft/ops/pick.h"
#include "weft/ops/rounding.h"
#include "weft/ops/scatter.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft::onnx {
namespace {

bool gather_extents(OnnxNode& node) {
  const OnnxValue& x = node.operand(0);
  if (!x.is_symbolic() || x.rank() != 1) return false;
  const Extents all = *x.extents();
  Extents picked;
  for (std::int64_t i : node.known_integers(1)) {
    if (i < 0) i += std::ssize(all);
    if (i < 0 || i >= std::ssize(all)) {
      throw node.damaged("index {} of {} dims", i, all.size());
    }
    picked.push_back(all[at(i)]);
  }
  const bool is_scalar = node.operand(1).rank() == 0;
  node.set(OnnxValue::of(std::move(picked), is_scalar, x.type().dtype));
  return true;
}

void import_gather(OnnxNode& node) {
  if (gather_extents(node)) return;
  const Value x = node.input(0);
  const int axis = node.axis("axis", 0, x.shape().rank());
  const auto known = node.operand(1).extents();
  const Dim size = x.shape()[axis];
  // One element that is known is a slice, which may be a view.
  if (known && node.operand(1).rank() == 0 && !(*known)[0].is_symbolic &&
      !is_symbolic(size)) {
    const std::int64_t given = (*known)[0].value;
    const std::int64_t place = given < 0 ? given + size : given;
    if (place < 0 || place >= size) {
      throw node.damaged("index {} of {}", given, size);
    }
    Shape rest;
    for (int i = 0; i < x.shape().rank(); ++i) {
      if (i != axis) rest.push_back(x.shape()[i]);
    }
    return node.set(reshape(slice_axis(x, axis, place, place + 1), rest));
  }
  node.set(gather(x, node.input(1), axis));
}

// The indices may be shorter along the other axes: they are seen from their
// beginnings.
Value beginning_like(const Value& x, const Shape& shape, int axis) {
  Integers end(at(x.shape().rank()), kToEnd);
  bool cuts = false;
  for (int i = 0; i < shape.rank(); ++i) {
    if (i == axis || shape[i] == x.shape()[i]) continue;
    end[at(i)] = shape[i];
    cuts = true;
  }
  return cuts ? slice(x, Integers(end.size(), 0), end) : x;
}

void import_gather_elements(OnnxNode& node) {
  const Value x = node.input(0);
  const Value indices = node.input(1);
  const int axis = node.axis("axis", 0, x.shape().rank());
  node.set(pick(beginning_like(x, indices.shape(), axis), indices, axis));
}

void import_gather_nd(OnnxNode& node) {
  node.set(
      gather_nd(node.input(0), node.input(1), node.integer("batch_dims", 0)));
}

// Factors that come to one place multiply, so the updates are gone through one
// by one: in x[d…, rest…], tuples [q…, k] name rows that updates [q…, rest…]
// multiply. Takes a step of a loop for each tuple.
Value multiplied_rows(const Value& x, const Value& tuples,
                      const Value& updates) {
  const int rank = tuples.shape().rank();
  const Dim length = tuples.shape()[rank - 1];
  Shape row{-1};
  for (int i = rank - 1; i < updates.shape().rank(); ++i) {
    row.push_back(updates.shape()[i]);
  }
  return scan(
      {x}, {reshape(tuples, {-1, 1, length}), reshape(updates, row)},
      [](const std::vector<Value>& now, const std::vector<Value>& update) {
        const Value before = gather_nd(now[0], update[0]);
        return std::vector<Value>{scatter_nd(
            now[0], update[0], before * reshape(update[1], before.shape()))};
      })[0];
}

// The places that indices along an axis name, as tuples.
Value tuples_of(const Value& indices, int axis) {
  const Shape& shape = indices.shape();
  Shape with_tuples = shape;
  with_tuples.push_back(1);
  std::vector<Value> parts;
  for (int i = 0; i < shape.rank(); ++i) {
    Shape along;
    along.resize(shape.rank(), 1);
    along[i] = shape[i];
    const Value part =
        i == axis ? indices
                  : broadcast_to(
                        reshape(iota(shape[i], indices.dtype()), along), shape);
    parts.push_back(reshape(part, with_tuples));
  }
  return concat(parts, shape.rank());
}

bool multiplies(const OnnxNode& node) {
  return node.text("reduction", "none") == "mul";
}

ScatterMode mode_of(const OnnxNode& node) {
  const std::string reduction = node.text("reduction", "none");
  if (reduction == "none") return ScatterMode::kSet;
  if (reduction == "add") return ScatterMode::kAdd;
  if (reduction == "max") return ScatterMode::kMax;
  if (reduction == "min") return ScatterMode::kMin;
  throw node.unsupported("combines what meets by '{}'", reduction);
}

void import_scatter_elements(OnnxNode& node) {
  const Value x = node.input(0);
  const Value indices = node.input(1);
  const int rank = x.shape().rank();
  const int axis = node.axis("axis", 0, rank);
  if (multiplies(node)) {
    return node.set(
        multiplied_rows(x, tuples_of(indices, axis), node.input(2)));
  }
  const Value part = beginning_like(x, indices.shape(), axis);
  const Value changed =
      put_along_axis(part, indices, node.input(2), axis, mode_of(node));
  if (part.shape() == x.shape()) return node.set(changed);
  // What the indices do not reach stays.
  const Value starts = Tensor::zeros({DType::kI64, {static_cast<Dim>(rank)}});
  node.set(dynamic_update_slice(x, changed, starts));
}

void import_scatter_nd(OnnxNode& node) {
  if (multiplies(node)) {
    if (node.operand(1).rank() < 1) throw node.damaged("no tuples of places");
    return node.set(
        multiplied_rows(node.input(0), node.input(1), node.input(2)));
  }
  node.set(
      scatter_nd(node.input(0), node.input(1), node.input(2), mode_of(node)));
}

// Rows of a cache from a place of each example's own are replaced.
void import_tensor_scatter(OnnxNode& node) {
  const Value cache = node.input(0);
  const Value update = node.input(1);
  const int rank = cache.shape().rank();
  const int axis = node.axis("axis", -2, rank);
  const Dim size = cache.shape()[axis];
  const Dim count = update.shape()[axis];
  const Dim batch = cache.shape()[0];
  Shape of_batch;
  of_batch.resize(rank, 1);
  of_batch[0] = batch;
  Shape along;
  along.resize(rank, 1);
  along[axis] = count;
  const Value begin = node.has(2)
                          ? reshape(cast(node.input(2), DType::kI64), of_batch)
                          : full({DType::kI64, of_batch}, 0);
  Value places = begin + reshape(iota(count), along);
  if (node.text("mode", "linear") == "circular") {
    if (is_symbolic(size)) throw node.unsupported("a cache of unknown size");
    places = remainder(places, scalar_like(places, static_cast<double>(size)));
  }
  node.set(put_along_axis(cache, broadcast_to(places, update.shape()), update,
                          axis));
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_indexing(OnnxRegistry& ops) {
  using namespace onnx;
  ops.add({.name = "Gather", .import = import_gather});
  ops.add({.name = "GatherElements", .import = import_gather_elements});
  ops.add({.name = "GatherND", .import = import_gather_nd});
  ops.add({.name = "ScatterElements", .import = import_scatter_elements});
  ops.add({.name = "Scatter", .import = import_scatter_elements});
  ops.add({.name = "ScatterND", .import = import_scatter_nd});
  ops.add({.name = "TensorScatter", .import = import_tensor_scatter});
}

}  // namespace weft
