#include "weft/ops/slice.h"

#include <array>

#include "weft/graph/gradient.h"
#include "weft/graph/registry.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/moves.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/samples.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

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
  // Where a slice would not read, nothing flows back. A place is read at most
  // once, as steps are positive, so the transpose sets elements and need not
  // add.
  fill_with(outputs[0], 0);
  for_each_placed(inputs[0].shape(), whole, slice_ranges(call, whole),
                  [&](std::int64_t part, std::int64_t place) {
                    copy_element(outputs[0], place, inputs[0], part);
                  });
}

void pad_reference(const OpCall& call, std::span<const TensorView> inputs,
                   std::span<const TensorView> outputs) {
  fill_with(outputs[0], call.attributes.real("value"));
  const Integers& low = call.attributes.integers("low");
  // The operand lies at `low`, in steps of 1; what is left over behind is
  // `high`.
  auto ranges = full_ranges(outputs[0].shape());
  for (std::size_t i = 0; i < low.size(); ++i) ranges[i].begin = low[i];
  for_each_placed(inputs[0].shape(), outputs[0].shape(), ranges,
                  [&](std::int64_t part, std::int64_t place) {
                    copy_element(outputs[0], place, inputs[0], part);
                  });
}

std::vector<TensorType> infer_slice(const OpCall& call) {
  const TensorType& x = call.input(0);
  return {{x.dtype, sliced_shape(slice_ranges(call, x.shape))}};
}

std::vector<TensorType> infer_unslice(const OpCall& call) {
  const TensorType& y = call.input(0);
  const Shape& whole = call.attributes.get<Shape>("shape");
  const Shape part = sliced_shape(slice_ranges(call, whole));
  // dy must be what the slice of that shape takes; otherwise elements would be
  // written outside of it.
  if (part != y.shape) {
    throw call.error("the slice takes {}", to_string(part));
  }
  return {{y.dtype, whole}};
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

Gradients pad_gradient(const GradientContext& g) {
  // Padding is constant: what flows into it is dropped.
  const Integers& high = g.attributes().integers("high");
  Integers end;
  for (const std::int64_t count : high) {
    // -0 would be the beginning.
    end.push_back(count == 0 ? kToEnd : -count);
  }
  return {slice(g.dy(), g.attributes().integers("low"), end)};
}

// `entry` for the batch axis, then the instances' own.
Integers behind(std::int64_t entry, Integers list) {
  list.insert(list.begin(), entry);
  return list;
}

// The attributes of a slice of every instance.
Attributes stacked_slices(const BatchContext& g) {
  Attributes a = g.attributes();
  // The batch axis is taken whole, whatever its size.
  a.set("begin", behind(0, a.integers("begin")));
  a.set("end", behind(kToEnd, a.integers("end")));
  // An empty list means steps of 1, for the batch too.
  if (!a.integers("steps").empty()) {
    a.set("steps", behind(1, a.integers("steps")));
  }
  return a;
}

std::vector<Value> batch_slice(const BatchContext& g) {
  return call_all(g.op(), std::array{g.x(0)}, stacked_slices(g), {});
}

std::vector<Value> batch_unslice(const BatchContext& g) {
  Attributes a = stacked_slices(g);
  a.set("shape", with_leading(g.size(), a.get<Shape>("shape")));
  return call_all(g.op(), std::array{g.x(0)}, a, {});
}

std::vector<Value> batch_pad(const BatchContext& g) {
  const Attributes& a = g.attributes();
  return {pad(g.x(0), behind(0, a.integers("low")),
              behind(0, a.integers("high")), a.real("value"))};
}

// Padding by another value than zero is not linear. The sum over the instances
// has that value once for each of them.
std::vector<Value> sum_of_padded(const BatchContext& g) {
  if (g.attributes().real("value") != 0) return {};
  return sum_of_linear(g);
}

// Ends may count from behind, steps run backwards and leave a rest, and a part
// may be of nothing.
std::vector<OpSample> slice_samples() {
  const auto cut = [](InputSample x, Integers begin, Integers end,
                      Integers steps = {}) {
    return OpSample{{std::move(x)},
                    {{"begin", std::move(begin)},
                     {"end", std::move(end)},
                     {"steps", std::move(steps)}}};
  };
  return {
      cut(floats({4, 5}), {1, 0}, {3, kToEnd}),
      cut(floats({4, 5}), {0, -3}, {kToEnd, -1}),
      cut(floats({9, 8}), {1, 0}, {9, 8}, {3, 2}),
      cut(floats({7}), {2}, {2}),
      cut(floats({}), {}, {}),
      cut(floats({0, 2}), {0, 1}, {0, 2}),
      cut(floats({3, 4, 5, 6}), {0, 1, 2, 0}, {3, 3, 4, 6}),
      cut(floats({7}), {kToEnd}, {kToEnd}, {-1}),
      cut(floats({5, 8}), {-2, 6}, {kToEnd, 1}, {-2, -3}),
      cut(floats({4, 5, 6}), {kToEnd, 0, kToEnd}, {kToEnd, 5, -3}, {-1, 1, -1}),
      cut(floats({0, 3}), {kToEnd, 1}, {kToEnd, 1}, {-1, -2}),
      cut(floats({33, 130}, -1, 1, DType::kF16), {0, kToEnd}, {33, kToEnd},
          {1, -1}),
      cut(integers({6, 6}, 0, 9), {1, 1}, {5, 4}),
      cut(floats({40, 50}, -1, 1, DType::kBF16), {3, 5}, {39, 49}, {1, 3})};
}

// What a slice above leaves out must become zeros here.
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
          place(floats({0}), {7}, {2}, {2}),
          place(floats({}), {}, {}, {}),
          place(floats({5, 3}), {5, 8}, {kToEnd, -2}, {kToEnd, 0}, {-1, -2}),
          place(integers({2}, 1, 9), {5}, {-2}, {kToEnd})};
}

// The value fills what is around, also where there is nothing in the middle.
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

// Far enough for ONNX to take the end of any axis.
constexpr std::int64_t kOnnxEnd = std::numeric_limits<std::int64_t>::max();

void export_slice(OnnxContext& c) {
  const int rank = c.type(0).shape.rank();
  const bool is_image = c.is_image(0);
  const Attributes& a = c.attributes();
  Integers steps = a.integers("steps");
  if (steps.empty()) steps.assign(at(rank), 1);
  Integers axes, begins, ends, strides;
  for (int axis = 0; axis < rank; ++axis) {
    const std::int64_t begin = a.integers("begin")[at(axis)];
    const std::int64_t end = a.integers("end")[at(axis)];
    const std::int64_t step = steps[at(axis)];
    if (begin == 0 && end == kToEnd && step == 1) continue;
    axes.push_back(onnx_axis(axis, rank, is_image));
    begins.push_back(begin);
    // Downward, the end is before the first element.
    ends.push_back(step < 0 && end == kToEnd ? -kOnnxEnd : end);
    strides.push_back(step);
  }
  if (axes.empty()) return onnx_identity(c);
  const std::string y =
      c.emit("Slice", {is_image ? c.image(0) : c.x(0), c.list(begins),
                       c.list(ends), c.list(axes), c.list(strides)});
  if (is_image) {
    c.set_image(y);
  } else {
    c.set(y);
  }
}

void export_pad(OnnxContext& c) {
  const int rank = c.type(0).shape.rank();
  const bool is_image = c.is_image(0);
  Integers pads(at(2 * rank), 0);
  for (int axis = 0; axis < rank; ++axis) {
    const auto to = onnx_axis(axis, rank, is_image);
    pads[at(to)] = c.attributes().integers("low")[at(axis)];
    pads[at(to + rank)] = c.attributes().integers("high")[at(axis)];
  }
  const std::string y =
      c.emit("Pad", {is_image ? c.image(0) : c.x(0), c.list(pads),
                     c.number(c.attributes().real("value"), c.type(0).dtype)});
  if (is_image) {
    c.set_image(y);
  } else {
    c.set(y);
  }
}

}  // namespace

void register_slice(OpRegistry& ops) {
  add_mover(ops, "slice")
      .summary("elements begin, begin + step, … up or down to end of each axis")
      .required("begin", Integers{})
      .required("end", Integers{})
      .attribute("steps", Integers{})
      .infer(infer_slice)
      .reference(slice_reference)
      .gradient(slice_gradient)
      .batch(batch_slice, sum_of_linear)
      .onnx(export_slice)
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
      .batch(batch_unslice, sum_of_linear)
      .cost(move_cost)
      .samples(unslice_samples);
  add_mover(ops, "pad")
      .summary("elements of one value before and after each axis")
      .required("low", Integers{})
      .required("high", Integers{})
      .attribute("value", 0.0)
      .infer(infer_pad)
      .reference(pad_reference)
      .gradient(pad_gradient)
      .batch(batch_pad, sum_of_padded)
      .onnx(export_pad)
      .samples(pad_samples);
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
  // The other axes are taken whole, even where they are symbolic.
  Integers begins(at(rank), 0);
  Integers ends(at(rank), kToEnd);
  begins[at(resolved)] = begin;
  ends[at(resolved)] = end;
  return slice(x, std::move(begins), std::move(ends));
}

Value reverse(const Operand& x, const Integers& axes) {
  const int rank = x.value->shape().rank();
  Integers begin(at(rank), 0);
  Integers steps(at(rank), 1);
  for (const std::int64_t axis : axes) {
    const int resolved = normalize_axis(axis, rank, "reverse");
    begin[at(resolved)] = kToEnd;
    steps[at(resolved)] = -1;
  }
  // The slice goes from the last element, one step down at a time, to the
  // first: kToEnd stands for either end, by the sign of the step.
  return slice(x, std::move(begin), Integers(at(rank), kToEnd),
               std::move(steps));
}

Value pad(const Operand& x, Integers low, Integers high, double value) {
  static const OpDef& op = op_registry().get("pad");
  return call(
      op, {x.value},
      {{"low", std::move(low)}, {"high", std::move(high)}, {"value", value}},
      x.location);
}

}  // namespace weft
