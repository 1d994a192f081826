#include "weft/ops/shape.h"

#include <algorithm>
#include <numeric>

#include "weft/graph/registry.h"
#include "weft/ops/constant.h"
#include "weft/ops/reduce.h"
#include "weft/ops/support/axes.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/support/slicing.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

using Index = std::array<std::int64_t, Shape::kMaxRank>;

std::size_t at(int axis) { return static_cast<std::size_t>(axis); }

// --- Reference kernels: one element at a time -----------------------------

// Calls body(i, index) for each element i of `shape` and its multi-index.
template <class Body>
void for_each_index(const Shape& shape, Body&& body) {
  const std::int64_t size = shape.num_elements();
  Index index{};
  for (std::int64_t i = 0; i < size; ++i) {
    body(i, index);
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      if (++index[at(axis)] < shape[axis]) break;
      index[at(axis)] = 0;
    }
  }
}

void copy_element(const TensorView& to, std::int64_t to_index,
                  const TensorView& from, std::int64_t from_index) {
  const std::size_t size = size_of(to.dtype());
  std::memcpy(
      to.as<std::byte>() + static_cast<std::size_t>(to_index) * size,
      from.as<std::byte>() + static_cast<std::size_t>(from_index) * size, size);
}

// Copies `part` into `whole`, or back, where axis a of the part stands at
// offset[a] + i * step[a] of the whole.
template <class Copy>
void for_each_placed(const Shape& part, const Shape& whole,
                     const std::vector<SliceRange>& ranges, Copy&& copy) {
  const auto strides = row_major_strides(whole);
  for_each_index(part, [&](std::int64_t i, const Index& index) {
    std::int64_t place = 0;
    for (int axis = 0; axis < part.rank(); ++axis) {
      const SliceRange& range = ranges[at(axis)];
      place += (range.begin + index[at(axis)] * range.step) * strides[at(axis)];
    }
    copy(i, place);
  });
}

// The whole of `shape`.
std::vector<SliceRange> full_ranges(const Shape& shape) {
  std::vector<SliceRange> ranges;
  for (const Dim dim : shape) ranges.push_back({0, dim, 1});
  return ranges;
}

void fill(const TensorView& y, double value) {
  for (std::int64_t i = 0; i < y.size(); ++i) store_as(y, i, value);
}

void reshape_reference(const OpCall&, std::span<const TensorView> inputs,
                       std::span<const TensorView> outputs) {
  const std::size_t bytes = inputs[0].type.bytes();
  if (bytes > 0 && outputs[0].data != inputs[0].data) {
    std::memcpy(outputs[0].data, inputs[0].data, bytes);
  }
}

Integers resolved_permutation(const Attributes& attributes, int rank) {
  Integers order = attributes.integers("permutation");
  if (order.empty()) {
    for (int axis = rank - 1; axis >= 0; --axis) order.push_back(axis);
  }
  for (std::int64_t& axis : order) axis = resolved_axis(axis, rank);
  return order;
}

void transpose_reference(const OpCall& call, std::span<const TensorView> inputs,
                         std::span<const TensorView> outputs) {
  const auto strides = row_major_strides(inputs[0].shape());
  const Integers order =
      resolved_permutation(call.attributes, inputs[0].shape().rank());
  const Shape& shape = outputs[0].shape();
  for_each_index(shape, [&](std::int64_t i, const Index& index) {
    std::int64_t source = 0;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      source +=
          index[at(axis)] * strides[static_cast<std::size_t>(order[at(axis)])];
    }
    copy_element(outputs[0], i, inputs[0], source);
  });
}

void broadcast_reference(const OpCall&, std::span<const TensorView> inputs,
                         std::span<const TensorView> outputs) {
  const BroadcastIndex source(inputs[0].shape(), outputs[0].shape());
  for (std::int64_t i = 0; i < outputs[0].size(); ++i) {
    copy_element(outputs[0], i, inputs[0], source(i));
  }
}

void slice_reference(const OpCall& call, std::span<const TensorView> inputs,
                     std::span<const TensorView> outputs) {
  const Shape& whole = inputs[0].shape();
  for_each_placed(outputs[0].shape(), whole, slice_ranges(call, whole),
                  [&](std::int64_t part, std::int64_t place) {
                    copy_element(outputs[0], part, inputs[0], place);
                  });
}

void unslice_reference(const OpCall& call, std::span<const TensorView> inputs,
                       std::span<const TensorView> outputs) {
  const Shape& whole = outputs[0].shape();
  fill(outputs[0], 0);
  for_each_placed(inputs[0].shape(), whole, slice_ranges(call, whole),
                  [&](std::int64_t part, std::int64_t place) {
                    copy_element(outputs[0], place, inputs[0], part);
                  });
}

void concat_reference(const OpCall& call, std::span<const TensorView> inputs,
                      std::span<const TensorView> outputs) {
  const Shape& whole = outputs[0].shape();
  const int axis = resolved_axis(call.attributes.integer("axis"), whole.rank());
  auto ranges = full_ranges(whole);
  for (const TensorView& x : inputs) {
    for_each_placed(x.shape(), whole, ranges,
                    [&](std::int64_t part, std::int64_t place) {
                      copy_element(outputs[0], place, x, part);
                    });
    ranges[at(axis)].begin += x.shape()[axis];
  }
}

void split_reference(const OpCall& call, std::span<const TensorView> inputs,
                     std::span<const TensorView> outputs) {
  const Shape& whole = inputs[0].shape();
  const int axis = resolved_axis(call.attributes.integer("axis"), whole.rank());
  auto ranges = full_ranges(whole);
  for (const TensorView& y : outputs) {
    for_each_placed(y.shape(), whole, ranges,
                    [&](std::int64_t part, std::int64_t place) {
                      copy_element(y, part, inputs[0], place);
                    });
    ranges[at(axis)].begin += y.shape()[axis];
  }
}

void pad_reference(const OpCall& call, std::span<const TensorView> inputs,
                   std::span<const TensorView> outputs) {
  fill(outputs[0], call.attributes.real("value"));
  const Integers& low = call.attributes.integers("low");
  auto ranges = full_ranges(outputs[0].shape());
  for (std::size_t i = 0; i < low.size(); ++i) ranges[i].begin = low[i];
  for_each_placed(inputs[0].shape(), outputs[0].shape(), ranges,
                  [&](std::int64_t part, std::int64_t place) {
                    copy_element(outputs[0], place, inputs[0], part);
                  });
}

void tile_reference(const OpCall&, std::span<const TensorView> inputs,
                    std::span<const TensorView> outputs) {
  const Shape& shape = inputs[0].shape();
  const auto strides = row_major_strides(shape);
  for_each_index(outputs[0].shape(), [&](std::int64_t i, const Index& index) {
    std::int64_t source = 0;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      source += index[at(axis)] % shape[axis] * strides[at(axis)];
    }
    copy_element(outputs[0], i, inputs[0], source);
  });
}

// --- Inference -----------------------------------------------------------

std::vector<TensorType> infer_reshape(const OpCall& call) {
  const TensorType& x = call.input(0);
  const Shape& shape = call.attributes.get<Shape>("shape");
  if (dim_product(shape.dims()) != dim_product(x.shape.dims())) {
    throw call
        .error("{} elements do not fill {}",
               to_string(dim_product(x.shape.dims())), to_string(shape))
        .hint("the product of the dims must stay; one of them may be -1");
  }
  return {{x.dtype, shape}};
}

std::vector<TensorType> infer_transpose(const OpCall& call) {
  const TensorType& x = call.input(0);
  const int rank = x.shape.rank();
  const Integers& order = call.attributes.integers("permutation");
  if (!order.empty() && order.size() != at(rank)) {
    throw call.error("a permutation of {} axes names {}", rank, order.size());
  }
  if (!order.empty()) checked_axes(call, order, rank);
  TensorType y{x.dtype, {}};
  for (const std::int64_t axis : resolved_permutation(call.attributes, rank)) {
    y.shape.push_back(x.shape[static_cast<int>(axis)]);
  }
  return {y};
}

std::vector<TensorType> infer_broadcast_to(const OpCall& call) {
  const TensorType& x = call.input(0);
  const Shape& shape = call.attributes.get<Shape>("shape");
  const int extra = shape.rank() - x.shape.rank();
  bool fits = extra >= 0;
  for (int axis = 0; fits && axis < x.shape.rank(); ++axis) {
    fits = x.shape[axis] == 1 || x.shape[axis] == shape[axis + extra];
  }
  if (!fits) {
    throw call.error("does not broadcast to {}", to_string(shape))
        .hint("aligned at the last axis, dims must be equal or 1");
  }
  return {{x.dtype, shape}};
}

std::vector<TensorType> infer_slice(const OpCall& call) {
  const TensorType& x = call.input(0);
  return {{x.dtype, sliced_shape(slice_ranges(call, x.shape))}};
}

std::vector<TensorType> infer_unslice(const OpCall& call) {
  const TensorType& y = call.input(0);
  const Shape& whole = call.attributes.get<Shape>("shape");
  const Shape part = sliced_shape(slice_ranges(call, whole));
  if (part != y.shape) {
    throw call.error("the slice takes {}", to_string(part));
  }
  return {{y.dtype, whole}};
}

std::vector<TensorType> infer_concat(const OpCall& call) {
  require_one_dtype(call);
  TensorType y = call.input(0);
  const int axis =
      checked_axis(call, call.attributes.integer("axis"), y.shape.rank());
  for (std::size_t i = 1; i < call.inputs.size(); ++i) {
    Shape other = call.input(i).shape;
    bool fits = other.rank() == y.shape.rank();
    if (fits) {
      const Dim sum = dim_add(y.shape[axis], other[axis]);
      y.shape[axis] = other[axis] = sum;
      fits = other == y.shape;
    }
    if (!fits) {
      throw call.error("operands 0 and {} differ in more than axis {}", i,
                       axis);
    }
  }
  return {y};
}

std::vector<TensorType> infer_split(const OpCall& call) {
  const TensorType& x = call.input(0);
  const Integers& sizes = call.attributes.integers("sizes");
  const int axis =
      checked_axis(call, call.attributes.integer("axis"), x.shape.rank());
  std::vector<TensorType> parts;
  Dim total = 0;
  for (const std::int64_t size : sizes) {
    if (size < 0) throw call.error("a part has size {}", size);
    parts.push_back(x);
    parts.back().shape[axis] = size;
    total = dim_add(total, size);
  }
  if (parts.empty() || total != x.shape[axis]) {
    throw call.error("the parts add up to {}, but axis {} has {}", total, axis,
                     to_string(x.shape[axis]));
  }
  return parts;
}

std::vector<TensorType> infer_pad(const OpCall& call) {
  TensorType y = call.input(0);
  const Integers& low = call.attributes.integers("low");
  const Integers& high = call.attributes.integers("high");
  const std::size_t rank = at(y.shape.rank());
  if (low.size() != rank || high.size() != rank) {
    throw call.error("low and high need one entry for each of {} axes", rank);
  }
  for (int axis = 0; axis < y.shape.rank(); ++axis) {
    if (low[at(axis)] < 0 || high[at(axis)] < 0) {
      throw call.error("axis {} has negative padding", axis)
          .hint("slice() takes elements away");
    }
    y.shape[axis] =
        dim_add(dim_add(y.shape[axis], low[at(axis)]), high[at(axis)]);
  }
  return {y};
}

std::vector<TensorType> infer_tile(const OpCall& call) {
  TensorType y = call.input(0);
  const Integers& repeats = call.attributes.integers("repeats");
  if (repeats.size() != at(y.shape.rank())) {
    throw call.error("repeats need one entry for each of {} axes",
                     y.shape.rank());
  }
  for (int axis = 0; axis < y.shape.rank(); ++axis) {
    if (repeats[at(axis)] < 1) {
      throw call.error("axis {} is repeated {} times", axis, repeats[at(axis)]);
    }
    y.shape[axis] = dim_multiply(y.shape[axis], repeats[at(axis)]);
  }
  return {y};
}

// --- Gradients -----------------------------------------------------------

Gradients reshape_gradient(const GradientContext& g) {
  return {reshape(g.dy(), g.x(0).shape())};
}

Gradients transpose_gradient(const GradientContext& g) {
  const Integers order =
      resolved_permutation(g.attributes(), g.x(0).shape().rank());
  Integers inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  }
  return {transpose(g.dy(), inverse)};
}

Gradients broadcast_gradient(const GradientContext& g) {
  return {sum_to(g.dy(), g.x(0).shape())};
}

Gradients slice_gradient(const GradientContext& g) {
  const Attributes& a = g.attributes();
  return {unslice(g.dy(), g.x(0).shape(), a.integers("begin"),
                  a.integers("end"), a.integers("steps"))};
}

Gradients unslice_gradient(const GradientContext& g) {
  const Attributes& a = g.attributes();
  return {slice(g.dy(), a.integers("begin"), a.integers("end"),
                a.integers("steps"))};
}

// Each operand's part of the result, counted from whichever end is known.
Gradients concat_gradient(const GradientContext& g) {
  const int rank = g.y().shape().rank();
  const int axis = resolved_axis(g.attributes().integer("axis"), rank);
  Gradients gradients;
  Dim before = 0;
  for (std::size_t i = 0; i < g.input_count(); ++i) {
    const Dim end = dim_add(before, g.x(i).shape()[axis]);
    const Dim after = dim_subtract(g.y().shape()[axis], end);
    const bool has_start = !is_symbolic(before);
    if ((!has_start && is_symbolic(dim_add(after, g.x(i).shape()[axis]))) ||
        (is_symbolic(end) && is_symbolic(after))) {
      throw Error(ErrorCode::kUnsupported, "concat",
                  "the gradient of operand {} needs to know more dims of axis "
                  "{}",
                  i, axis);
    }
    const std::int64_t first =
        has_start ? before : -dim_add(after, g.x(i).shape()[axis]);
    const std::int64_t last = !is_symbolic(end) ? end
                              : after == 0      ? kToEnd
                                                : -after;
    gradients.push_back(slice_axis(g.dy(), axis, first, last));
    before = end;
  }
  return gradients;
}

Gradients split_gradient(const GradientContext& g) {
  const auto parts = g.attributes().integers("sizes").size();
  std::vector<Value> gradients;
  for (std::size_t i = 0; i < parts; ++i) {
    gradients.push_back(g.dy(i).is_defined() ? g.dy(i) : zeros_like(g.y(i)));
  }
  return {concat(gradients, g.attributes().integer("axis"))};
}

Gradients pad_gradient(const GradientContext& g) {
  const Integers& high = g.attributes().integers("high");
  Integers end;
  for (const std::int64_t count : high) {
    end.push_back(count == 0 ? kToEnd : -count);
  }
  return {slice(g.dy(), g.attributes().integers("low"), end)};
}

// Splits each repeated axis into (repeats, dim) and sums the repeats.
Gradients tile_gradient(const GradientContext& g) {
  const Shape& shape = g.x(0).shape();
  const Integers& repeats = g.attributes().integers("repeats");
  Shape split_up;
  Integers axes;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (repeats[at(axis)] != 1) {
      axes.push_back(split_up.rank());
      split_up.push_back(repeats[at(axis)]);
    }
    split_up.push_back(shape[axis]);
  }
  if (axes.empty()) return {g.dy()};
  return {sum(reshape(g.dy(), split_up), axes)};
}

// --- Samples -------------------------------------------------------------

std::vector<OpSample> reshape_samples() {
  return {{{floats({3, 4})}, {{"shape", Shape{2, 6}}}},
          {{floats({})}, {{"shape", Shape{1, 1}}}},
          {{floats({0, 3})}, {{"shape", Shape{3, 0, 2}}}},
          {{integers({6}, 0, 9)}, {{"shape", Shape{2, 3}}}},
          {{floats({8}, -1, 1, DType::kBF16)}, {{"shape", Shape{8, 1}}}}};
}

std::vector<OpSample> transpose_samples() {
  const auto order = [](InputSample x, Integers permutation) {
    return OpSample{{std::move(x)}, {{"permutation", std::move(permutation)}}};
  };
  return {order(floats({3, 5}), {}),
          order(floats({2, 3, 4}), {1, 0, 2}),
          order(floats({2, 3, 4}), {0, -1, 1}),
          order(floats({}), {}),
          order(floats({1, 5, 1}), {2, 1, 0}),
          order(floats({0, 3}), {1, 0}),
          order(floats({67, 131}), {1, 0}),
          order(floats({3, 65, 34}), {2, 0, 1}),
          order(floats({2, 5, 7, 3}), {0, 3, 1, 2}),
          order(floats({70, 33}, -1, 1, DType::kBF16), {1, 0}),
          order(floats({17, 40}, -1, 1, DType::kF64), {1, 0}),
          order(integers({40, 33}, 0, 9, DType::kU8), {1, 0})};
}

std::vector<OpSample> broadcast_samples() {
  const auto to = [](InputSample x, const Shape& shape) {
    return OpSample{{std::move(x)}, {{"shape", shape}}};
  };
  return {to(floats({3, 1}), {3, 5}),
          to(floats({}), {2, 3}),
          to(floats({4}), {2, 3, 4}),
          to(floats({1, 3, 1}), {2, 3, 2}),
          to(floats({1}), {0}),
          to(floats({2, 3}), {2, 3}),
          to(floats({130, 1}), {130, 70}),
          to(floats({5, 1}, -1, 1, DType::kBF16), {5, 9}),
          to(integers({1, 7}, 0, 9, DType::kU8), {3, 7})};
}

std::vector<OpSample> slice_samples() {
  const auto cut = [](InputSample x, Integers begin, Integers end,
                      Integers steps = {}) {
    return OpSample{{std::move(x)},
                    {{"begin", std::move(begin)},
                     {"end", std::move(end)},
                     {"steps", std::move(steps)}}};
  };
  return {cut(floats({4, 5}), {1, 0}, {3, kToEnd}),
          cut(floats({4, 5}), {0, -3}, {kToEnd, -1}),
          cut(floats({9, 8}), {1, 0}, {9, 8}, {3, 2}),
          cut(floats({7}), {2}, {2}),
          cut(floats({}), {}, {}),
          cut(floats({0, 2}), {0, 1}, {0, 2}),
          cut(floats({3, 4, 5, 6}), {0, 1, 2, 0}, {3, 3, 4, 6}),
          cut(integers({6, 6}, 0, 9), {1, 1}, {5, 4}),
          cut(floats({40, 50}, -1, 1, DType::kBF16), {3, 5}, {39, 49}, {1, 3})};
}

std::vector<OpSample> unslice_samples() {
  const auto place = [](InputSample y, const Shape& shape, Integers begin,
                        Integers end, Integers steps = {}) {
    return OpSample{{std::move(y)},
                    {{"shape", shape},
                     {"begin", std::move(begin)},
                     {"end", std::move(end)},
                     {"steps", std::move(steps)}}};
  };
  return {place(floats({2, 5}), {4, 5}, {1, 0}, {3, kToEnd}),
          place(floats({3, 4}), {9, 8}, {1, 0}, {9, 8}, {3, 2}),
          place(floats({0}), {7}, {2}, {2}), place(floats({}), {}, {}, {}),
          place(integers({2}, 1, 9), {5}, {-2}, {kToEnd})};
}

std::vector<OpSample> concat_samples() {
  const auto along = [](std::vector<InputSample> xs, std::int64_t axis) {
    return OpSample{std::move(xs), {{"axis", axis}}};
  };
  return {along({floats({2, 3}), floats({4, 3})}, 0),
          along({floats({2, 3}), floats({2, 1}), floats({2, 2})}, -1),
          along({floats({3})}, 0),
          along({floats({0, 2}), floats({3, 2})}, 0),
          along({floats({2, 3, 4}), floats({2, 5, 4})}, 1),
          along({floats({33, 20}, -1, 1, DType::kBF16),
                 floats({33, 5}, -1, 1, DType::kBF16)},
                1),
          along({bools({3}), bools({4})}, 0)};
}

std::vector<OpSample> split_samples() {
  const auto parts = [](InputSample x, Integers sizes, std::int64_t axis) {
    return OpSample{{std::move(x)},
                    {{"sizes", std::move(sizes)}, {"axis", axis}}};
  };
  return {parts(floats({6, 3}), {1, 2, 3}, 0),
          parts(floats({2, 5}), {4, 1}, -1), parts(floats({4}), {0, 4}, 0),
          parts(floats({2, 6, 3}), {2, 4}, 1),
          parts(integers({8}, 0, 9), {8}, 0)};
}

std::vector<OpSample> pad_samples() {
  const auto around = [](InputSample x, Integers low, Integers high,
                         double value) {
    return OpSample{
        {std::move(x)},
        {{"low", std::move(low)}, {"high", std::move(high)}, {"value", value}}};
  };
  return {around(floats({2, 3}), {1, 0}, {0, 2}, 0),
          around(floats({3}), {2}, {3}, -1.5),
          around(floats({}), {}, {}, 1),
          around(floats({0, 2}), {1, 1}, {1, 0}, 7),
          around(floats({2, 5, 5, 3}), {0, 1, 1, 0}, {0, 1, 1, 0}, 0),
          around(integers({4}, 0, 9), {1}, {1}, -1),
          around(floats({30, 41}, -1, 1, DType::kBF16), {3, 1}, {0, 2}, 2)};
}

std::vector<OpSample> tile_samples() {
  const auto times = [](InputSample x, Integers repeats) {
    return OpSample{{std::move(x)}, {{"repeats", std::move(repeats)}}};
  };
  return {times(floats({2, 3}), {2, 1}),  times(floats({2, 3}), {1, 3}),
          times(floats({3}), {4}),        times(floats({}), {}),
          times(floats({0, 2}), {2, 2}),  times(floats({2, 1, 5}), {3, 2, 2}),
          times(integers({3}, 0, 9), {2})};
}

Cost move_cost(const OpCall& call) { return Cost::of(call, 0); }

OpDef& mover(OpRegistry& ops, const char* name) {
  return ops.add(name).signature("(x) -> y").cost(move_cost);
}

// Fills in a -1.
Shape without_rest(const Operand& x, Shape shape) {
  const TensorType& type = x.value->type();
  const auto rest = std::find(shape.begin(), shape.end(), -1);
  std::optional<Dim> quotient;
  if (std::count(shape.begin(), shape.end(), -1) == 1) {
    Dim known = 1;
    for (const Dim dim : shape) {
      if (dim != -1) known = dim_multiply(known, dim);
    }
    if (known != 0) {
      quotient = dim_divide_exactly(dim_product(type.shape.dims()), known);
    }
  }
  if (!quotient) {
    throw Error(ErrorCode::kInvalidArgument, "reshape",
                "no single size for -1 makes {} elements",
                to_string(dim_product(type.shape.dims())))
        .detail("input x: " + to_string(type))
        .detail("built at: " + to_string(Location(x.location)));
  }
  shape[static_cast<int>(rest - shape.begin())] = *quotient;
  return shape;
}

}  // namespace

void register_shape(OpRegistry& ops) {
  mover(ops, "reshape")
      .summary("the same elements under another shape")
      .required("shape", Shape())
      .traits(kView)
      .infer(infer_reshape)
      .reference(reshape_reference)
      .gradient(reshape_gradient)
      .cost([](const OpCall&) { return Cost{}; })
      .samples(reshape_samples);
  mover(ops, "transpose")
      .summary("axes in another order")
      .attribute("permutation", Integers{})
      .infer(infer_transpose)
      .reference(transpose_reference)
      .gradient(transpose_gradient)
      .samples(transpose_samples);
  mover(ops, "broadcast_to")
      .summary("repeats along axes of size 1 and new leading axes")
      .required("shape", Shape())
      .infer(infer_broadcast_to)
      .reference(broadcast_reference)
      .gradient(broadcast_gradient)
      .samples(broadcast_samples);
  mover(ops, "slice")
      .summary("elements begin, begin + step, … below end of each axis")
      .required("begin", Integers{})
      .required("end", Integers{})
      .attribute("steps", Integers{})
      .infer(infer_slice)
      .reference(slice_reference)
      .gradient(slice_gradient)
      .samples(slice_samples);
  ops.add("unslice")
      .summary("zeros of a shape, with y where slice would read")
      .signature("(y) -> x")
      .required("shape", Shape())
      .required("begin", Integers{})
      .required("end", Integers{})
      .attribute("steps", Integers{})
      .infer(infer_unslice)
      .reference(unslice_reference)
      .gradient(unslice_gradient)
      .cost(move_cost)
      .samples(unslice_samples);
  ops.add("concat")
      .summary("operands one after another along an axis")
      .signature("(xs...) -> y")
      .required("axis", std::int64_t{0})
      .infer(infer_concat)
      .reference(concat_reference)
      .gradient(concat_gradient)
      .cost(move_cost)
      .samples(concat_samples);
  ops.add("split")
      .summary("parts of the given sizes along an axis")
      .signature("(x) -> ys...")
      .required("sizes", Integers{})
      .required("axis", std::int64_t{0})
      .infer(infer_split)
      .reference(split_reference)
      .gradient(split_gradient)
      .cost(move_cost)
      .samples(split_samples);
  mover(ops, "pad")
      .summary("elements of one value before and after each axis")
      .required("low", Integers{})
      .required("high", Integers{})
      .attribute("value", 0.0)
      .infer(infer_pad)
      .reference(pad_reference)
      .gradient(pad_gradient)
      .samples(pad_samples);
  mover(ops, "tile")
      .summary("the whole tensor, repeated along each axis")
      .required("repeats", Integers{})
      .infer(infer_tile)
      .reference(tile_reference)
      .gradient(tile_gradient)
      .samples(tile_samples);
}

Value reshape(const Operand& x, const Shape& shape) {
  static const OpDef& op = op_registry().get("reshape");
  const bool has_rest =
      std::find(shape.begin(), shape.end(), -1) != shape.end();
  return call(op, {x.value},
              {{"shape", has_rest ? without_rest(x, shape) : shape}},
              x.location);
}

Value transpose(const Operand& x, Integers permutation) {
  static const OpDef& op = op_registry().get("transpose");
  return call(op, {x.value}, {{"permutation", std::move(permutation)}},
              x.location);
}

Value broadcast_to(const Operand& x, const Shape& shape) {
  if (x.value->shape() == shape) return *x.value;
  static const OpDef& op = op_registry().get("broadcast_to");
  return call(op, {x.value}, {{"shape", shape}}, x.location);
}

Value slice(const Operand& x, Integers begin, Integers end, Integers steps) {
  static const OpDef& op = op_registry().get("slice");
  return call(op, {x.value},
              {{"begin", std::move(begin)},
               {"end", std::move(end)},
               {"steps", std::move(steps)}},
              x.location);
}

Value unslice(const Operand& y, const Shape& shape, Integers begin,
              Integers end, Integers steps) {
  static const OpDef& op = op_registry().get("unslice");
  return call(op, {y.value},
              {{"shape", shape},
               {"begin", std::move(begin)},
               {"end", std::move(end)},
               {"steps", std::move(steps)}},
              y.location);
}

Value slice_axis(const Operand& x, std::int64_t axis, std::int64_t begin,
                 std::int64_t end) {
  const int rank = x.value->shape().rank();
  const int resolved = normalize_axis(axis, rank, "slice_axis");
  Integers begins(at(rank), 0);
  Integers ends(at(rank), kToEnd);
  begins[at(resolved)] = begin;
  ends[at(resolved)] = end;
  return slice(x, std::move(begins), std::move(ends));
}

Value concat(std::span<const Value> xs, std::int64_t axis,
             std::source_location where) {
  static const OpDef& op = op_registry().get("concat");
  return std::move(call_all(op, xs, {{"axis", axis}}, where).front());
}

std::vector<Value> split(const Operand& x, const Integers& sizes,
                         std::int64_t axis) {
  static const OpDef& op = op_registry().get("split");
  return call_all(op, {x.value, 1}, {{"sizes", sizes}, {"axis", axis}},
                  x.location);
}

Value pad(const Operand& x, Integers low, Integers high, double value) {
  static const OpDef& op = op_registry().get("pad");
  return call(
      op, {x.value},
      {{"low", std::move(low)}, {"high", std::move(high)}, {"value", value}},
      x.location);
}

Value tile(const Operand& x, Integers repeats) {
  static const OpDef& op = op_registry().get("tile");
  return call(op, {x.value}, {{"repeats", std::move(repeats)}}, x.location);
}

}  // namespace weft
