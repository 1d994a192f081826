// Ops that cut parts out of tensors, and put elements around them.
#include <algorithm>
#include <limits>
#include <span>

#include "weft/base/index.h"
#include "weft/onnx/elementwise.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/index.h"
#include "weft/ops/pick.h"
#include "weft/ops/rounding.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft::onnx {
namespace {

// One axis of ONNX's Slice as the engine's begin and end. ONNX moves places
// beyond an axis to its ends; the engine refuses them.
struct Cut {
  std::int64_t begin = 0;
  std::int64_t end = kToEnd;
  std::int64_t step = 1;
};

// The last places that a slice can name, of an axis whose size is known.
Cut cut_known(std::int64_t begin, std::int64_t end, std::int64_t step,
              std::int64_t size) {
  const auto place = [&](std::int64_t given) {
    return given < 0 ? given + size : given;
  };
  if (step > 0) {
    begin = std::clamp<std::int64_t>(place(begin), 0, size);
    end = std::clamp<std::int64_t>(place(end), 0, size);
    return {begin, std::max(begin, end), step};
  }
  begin = std::clamp<std::int64_t>(place(begin), -1, size - 1);
  end = std::clamp<std::int64_t>(place(end), -1, size - 1);
  if (begin <= end || size == 0) return {0, 0, 1};  // of nothing
  return {begin, end < 0 ? kToEnd : end, step};
}

// A size that is not known allows what means the same for all of them.
Cut cut_symbolic(const OnnxNode& node, Extent begin, Extent end,
                 std::int64_t step, Dim size) {
  constexpr std::int64_t kFar = std::int64_t{1} << 31;
  const auto is_far = [&](Extent each) {
    return !each.is_symbolic && each.value >= kFar - 1;
  };
  if (step < 0) {
    const bool is_whole = (is_far(begin) || begin == Extent{-1}) &&
                          !end.is_symbolic && end.value <= -kFar;
    if (is_whole) return {kToEnd, kToEnd, step};
  } else {
    const bool ends = is_far(end) || end == Extent::of(size);
    const bool begins = !begin.is_symbolic;
    if (begins && ends) return {begin.value, kToEnd, step};
    if (begins && !end.is_symbolic) return {begin.value, end.value, step};
  }
  throw node.unsupported("cuts {} at places that depend on it",
                         to_string(size));
}

// Numbers of a shape, cut while importing.
void cut_extents(OnnxNode& node, std::span<const std::pair<int, Cut>> cuts) {
  const Extents all = *node.operand(0).extents();
  const auto size = static_cast<std::int64_t>(all.size());
  if (node.operand(0).rank() != 1 || cuts.size() > 1) {
    throw node.damaged("cuts a number");
  }
  const Cut cut = cuts.empty() ? Cut() : cuts[0].second;
  Extents part;
  if (cut.step > 0) {
    for (std::int64_t i = cut.begin; i < std::min(cut.end, size);
         i += cut.step) {
      part.push_back(all[at(i)]);
    }
  } else {
    const std::int64_t last = cut.end == kToEnd ? -1 : cut.end;
    for (std::int64_t i = cut.begin; i > last; i += cut.step) {
      part.push_back(all[at(i)]);
    }
  }
  node.set(OnnxValue::of(std::move(part), false, node.operand(0).type().dtype));
}

Extents extents_from(const Integers& numbers) {
  Extents result;
  for (const std::int64_t number : numbers) result.push_back({number});
  return result;
}

void import_slice(OnnxNode& node) {
  const bool is_old = node.opset() < 10;  // with attributes
  const Extents begins =
      is_old ? extents_from(node.integers("starts")) : node.extents(1);
  const Extents ends =
      is_old ? extents_from(node.integers("ends")) : node.extents(2);
  const Shape shape = node.operand(0).type().shape;
  Integers axes;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    axes.push_back(static_cast<std::int64_t>(i));
  }
  if (is_old) axes = node.integers("axes", axes);
  if (!is_old && node.has(3)) axes = node.known_integers(3);
  Integers steps(begins.size(), 1);
  if (!is_old && node.has(4)) steps = node.known_integers(4);
  if (ends.size() != begins.size() || axes.size() != begins.size() ||
      steps.size() != begins.size()) {
    throw node.damaged("starts, ends, axes and steps differ in number");
  }
  std::vector<std::pair<int, Cut>> cuts;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const int axis = normalize_axis(axes[i], shape.rank(), "Slice");
    const Dim size = shape[axis];
    if (steps[i] == 0 || steps[i] == std::numeric_limits<std::int64_t>::min()) {
      throw node.damaged("a step of {}", steps[i]);
    }
    const bool is_known =
        !is_symbolic(size) && !begins[i].is_symbolic && !ends[i].is_symbolic;
    cuts.emplace_back(
        axis, is_known
                  ? cut_known(begins[i].value, ends[i].value, steps[i], size)
                  : cut_symbolic(node, begins[i], ends[i], steps[i], size));
  }
  if (node.operand(0).is_symbolic()) return cut_extents(node, cuts);
  const InPlace x(node.operand(0));
  Integers begin(at(shape.rank()), 0);
  Integers end(at(shape.rank()), kToEnd);
  Integers step(at(shape.rank()), 1);
  for (const auto& [onnx_axis, cut] : cuts) {
    const std::size_t axis = at(x.axis(onnx_axis));
    begin[axis] = cut.begin;
    end[axis] = cut.end;
    step[axis] = cut.step;
  }
  node.set(x.result(slice(x.value, begin, end, step)));
}

// --- Padding -----------------------------------------------------------------

// Positions of an axis of `size`, seen from `before` places before it to
// `after` behind it, in a mode that repeats what is there.
std::vector<std::int64_t> repeated_places(const OnnxNode& node,
                                          const std::string& mode,
                                          std::int64_t size,
                                          std::int64_t before,
                                          std::int64_t after) {
  constexpr std::int64_t kMost = 1 << 24;
  std::vector<std::int64_t> places;
  if (size < 1) throw node.damaged("nothing to repeat");
  if (before + after > kMost) {
    throw node.unsupported("repeats {} elements", before + after);
  }
  for (std::int64_t i = -before; i < size + after; ++i) {
    if (mode == "edge") {
      places.push_back(std::clamp<std::int64_t>(i, 0, size - 1));
    } else if (mode == "wrap") {
      places.push_back((i % size + size) % size);
    } else {  // reflect: without the edge itself
      const std::int64_t period = std::max<std::int64_t>(1, 2 * (size - 1));
      const std::int64_t phase = (i % period + period) % period;
      places.push_back(std::min(phase, period - phase));
    }
  }
  return places;
}

Value gathered_places(const Value& x, const std::vector<std::int64_t>& places,
                      int axis) {
  const Value indices =
      Tensor::of<std::int64_t>({static_cast<Dim>(places.size())}, places);
  return gather(x, indices, axis);
}

// The numbers for each axis, before it and behind it.
struct Padding {
  Integers before;
  Integers after;
};

Padding padding_of(const OnnxNode& node, int rank) {
  Integers given;
  if (node.opset() < 11) {
    given = node.integers(node.opset() < 2 ? "paddings" : "pads");
  } else {
    given = node.known_integers(1);
  }
  Integers axes;
  for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  if (node.opset() >= 18 && node.has(3)) axes = node.known_integers(3);
  if (given.size() != 2 * axes.size()) {
    throw node.damaged("{} numbers pad {} axes", given.size(), axes.size());
  }
  Padding padding{Integers(at(rank), 0), Integers(at(rank), 0)};
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = at(normalize_axis(axes[i], rank, "Pad"));
    padding.before[axis] = given[i];
    padding.after[axis] = given[axes.size() + i];
    for (const std::int64_t each : {given[i], given[axes.size() + i]}) {
      if (each > kMost || each < -kMost) throw node.damaged("pads by {}", each);
    }
  }
  return padding;
}

// Negative padding takes elements away.
Value cropped(const Value& x, Padding& padding) {
  Integers begin(padding.before.size(), 0);
  Integers end(padding.before.size(), kToEnd);
  bool crops = false;
  for (std::size_t i = 0; i < begin.size(); ++i) {
    if (padding.before[i] < 0) begin[i] = -std::exchange(padding.before[i], 0);
    if (padding.after[i] < 0) end[i] = std::exchange(padding.after[i], 0);
    crops = crops || begin[i] != 0 || end[i] != kToEnd;
  }
  return crops ? slice(x, begin, end) : x;
}

Value padding_value(const OnnxNode& node, DType dtype) {
  if (node.opset() >= 11 && node.has(2)) return reshaped(node.input(2), {});
  const double value = node.opset() < 11 ? node.real("value", 0) : 0;
  return Value(Tensor::scalar(value, dtype));
}

// Integers beyond 2^53, bools, and values that are computed do not fit the
// engine's attribute: a mask chooses between x and the value.
Value padded_by_mask(const Value& x, const Padding& padding,
                     const Value& value) {
  const Value wide = x.dtype() == DType::kBool ? cast(x, DType::kU8) : x;
  const Value inside =
      pad(full({DType::kU8, x.shape()}, 1), padding.before, padding.after);
  const Value moved = pad(wide, padding.before, padding.after);
  return where(not_equal(inside, scalar(0, DType::kU8)),
               to_dtype(moved, x.dtype()), value);
}

void import_pad(OnnxNode& node) {
  const std::string mode = node.text("mode", "constant");
  const int rank = node.operand(0).rank();
  const Padding given = padding_of(node, rank);
  const InPlace x(node.operand(0));
  Padding padding = given;
  for (int axis = 0; axis < rank; ++axis) {
    padding.before[at(x.axis(axis))] = given.before[at(axis)];
    padding.after[at(x.axis(axis))] = given.after[at(axis)];
  }
  Value y = cropped(x.value, padding);
  if (mode != "constant") {
    if (mode != "edge" && mode != "reflect" && mode != "wrap") {
      throw node.damaged("there is no mode '{}'", mode);
    }
    for (int axis = 0; axis < rank; ++axis) {
      const std::int64_t before = padding.before[at(axis)];
      const std::int64_t after = padding.after[at(axis)];
      if (before == 0 && after == 0) continue;
      const Dim size = y.shape()[axis];
      if (is_symbolic(size)) {
        throw node.unsupported("repeats elements of an axis of unknown size");
      }
      y = gathered_places(y, repeated_places(node, mode, size, before, after),
                          axis);
    }
    return node.set(x.result(y));
  }
  const Value value = padding_value(node, y.dtype());
  const bool fits = !value.is_staged() && y.dtype() != DType::kBool &&
                    (y.dtype() != DType::kI64 || value.tensor().item() == 0);
  node.set(x.result(
      fits ? pad(y, padding.before, padding.after, value.tensor().item())
           : padded_by_mask(y, padding, value)));
}

// Takes from the middle of an axis, or puts zeros around it.
void import_center_crop_pad(OnnxNode& node) {
  const Integers wanted = node.known_integers(1);
  Value x = node.input(0);
  const int rank = x.shape().rank();
  Integers all;
  for (int axis = 0; axis < rank; ++axis) all.push_back(axis);
  const Integers axes = node.integers("axes", all);
  if (axes.size() != wanted.size()) throw node.damaged("axes do not fit");
  Padding padding{Integers(at(rank), 0), Integers(at(rank), 0)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int axis = normalize_axis(axes[i], rank, "CenterCropPad");
    const Dim size = x.shape()[axis];
    if (is_symbolic(size)) throw node.unsupported("an axis of unknown size");
    const std::int64_t more = wanted[i] - size;
    // The part before an odd number is the smaller one.
    const std::int64_t before = more >= 0 ? more / 2 : -((-more) / 2);
    padding.before[at(axis)] = before;
    padding.after[at(axis)] = more - before;
  }
  x = cropped(x, padding);
  node.set(pad(x, padding.before, padding.after));
}

// --- Triangles ---------------------------------------------------------------

void import_triangle(OnnxNode& node) {
  const Value x = node.input(0);
  const Shape& shape = x.shape();
  if (shape.rank() < 2) throw node.damaged("no matrix");
  const Value diagonal = node.has(1)
                             ? cast(reshape(node.input(1), {}), DType::kI64)
                             : scalar(0, DType::kI64);
  const Value row =
      reshape(iota(shape[shape.rank() - 2]), {shape[shape.rank() - 2], 1});
  const Value column = iota(shape.back());
  const bool is_upper = node.integer("upper", 1) != 0;
  const Value stays = is_upper ? greater_equal(column, row + diagonal)
                               : less_equal(column, row + diagonal);
  node.set(where(stays, x, full({x.dtype(), {}}, 0)));
}

// The first `length` elements of an axis in the opposite order, for each
// example.
void import_reverse_sequence(OnnxNode& node) {
  const Value x = node.input(0);
  const int rank = x.shape().rank();
  const int batch_axis = node.axis("batch_axis", 1, rank);
  const int time_axis = node.axis("time_axis", 0, rank);
  const Dim steps = x.shape()[time_axis];
  Shape along;
  along.resize(rank, 1);
  along[time_axis] = steps;
  const Value place = reshape(iota(steps), along);
  Shape each;
  each.resize(rank, 1);
  each[batch_axis] = x.shape()[batch_axis];
  const Value length = reshape(cast(node.input(1), DType::kI64), each);
  const Value from = where(less(place, length), length - 1 - place, place);
  node.set(pick(x, broadcast_to(from, x.shape()), time_axis));
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_slices(OnnxRegistry& ops) {
  using namespace onnx;
  ops.add({.name = "Slice", .import = import_slice});
  ops.add({.name = "Pad", .import = import_pad});
  ops.add({.name = "CenterCropPad", .import = import_center_crop_pad});
  ops.add({.name = "Trilu", .import = import_triangle});
  ops.add({.name = "ReverseSequence", .import = import_reverse_sequence});
}

}  // namespace weft
