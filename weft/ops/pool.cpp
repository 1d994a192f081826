// Max pooling remembers where in its window each maximum stood. Scattering to
// those places and gathering from them are linear, and each the other's
// transpose; so are averaging and its gradient.
#include "weft/ops/pool.h"

#include <algorithm>

#include "weft/graph/registry.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/doubles.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/window.h"

namespace weft {
namespace {

Attributes to_attributes(const PoolOptions& options) {
  return {
      {"window", options.window},
      // An image is cut into tiles unless strides are given.
      {"strides", options.strides.empty() ? options.window : options.strides},
      {"padding", options.padding}};
}

// The attributes of another op over the same windows. They are copied one by
// one: the other op has not all the attributes of this one (shape).
Attributes same_windows(const Attributes& attributes) {
  return {{"window", attributes.integers("window")},
          {"strides", attributes.integers("strides")},
          {"padding", attributes.integers("padding")}};
}

// The attributes of averaging, or of its transpose, over the same windows.
Attributes same_means(const Attributes& attributes) {
  Attributes result = same_windows(attributes);
  result.set("counts_padding", attributes.flag("counts_padding"));
  return result;
}

Window pool_window(const OpCall& call) {
  const Integers& window = call.attributes.integers("window");
  // Positions in a window then fit an i32. The largest window has 2^30 of them.
  constexpr std::int64_t kMost = std::int64_t{1} << 15;
  for (const std::int64_t size : window) {
    if (size < 1 || size > kMost) {
      throw call.error("'window' takes numbers in [1, {}], got {}", kMost,
                       size);
    }
  }
  if (window.size() != 2) {
    throw call.error("'window' takes 2 numbers, got {}", window.size());
  }
  const Window result = window_of(call, window[0], window[1]);
  for (const WindowAxis& axis : {result.rows, result.columns}) {
    // Such a window would have no maximum, and no position to give.
    if (axis.before >= axis.kernel || axis.after >= axis.kernel) {
      throw call.error("a window would see nothing but padding")
          .hint("padding must be smaller than the window");
    }
  }
  return result;
}

// A position in the window: u8 wherever that suffices. There is one for each
// pooled pixel, written in the forward pass and read in the backward pass, so
// its bytes count.
DType position_dtype(const OpCall& call) {
  const Integers& window = call.attributes.integers("window");
  return window[0] * window[1] <= 256 ? DType::kU8 : DType::kI32;
}

Shape pooled(const OpCall& call, const Shape& x) {
  if (x.rank() != 4) {
    throw call.error("images are [batch, rows, columns, channels], not {}",
                     to_string(x));
  }
  const Window window = pool_window(call);
  return {x[0], window_count(call, window.rows, x[1]),
          window_count(call, window.columns, x[2]), x[3]};
}

void check_pooled(const OpCall& call, const Shape& actual, const Shape& x) {
  const Shape expected = pooled(call, x);
  if (actual != expected) {
    throw call.error("the pooled image must be {}", to_string(expected));
  }
}

void check_position(const OpCall& call) {
  if (call.input(1).dtype != position_dtype(call)) {
    throw call.error("positions must be {}", to_string(position_dtype(call)));
  }
}

std::vector<TensorType> infer_max(const OpCall& call) {
  require_floating(call);
  const TensorType& x = call.input(0);
  const Shape shape = pooled(call, x.shape);
  return {{x.dtype, shape}, {position_dtype(call), shape}};
}

std::vector<TensorType> infer_scatter(const OpCall& call) {
  const TensorType dx{call.input(0).dtype, call.attributes.get<Shape>("shape")};
  if (!is_floating(dx.dtype)) throw call.error("computes in floats only");
  check_pooled(call, call.input(0).shape, dx.shape);
  check_pooled(call, call.input(1).shape, dx.shape);
  check_position(call);
  return {dx};
}

std::vector<TensorType> infer_pool_gather(const OpCall& call) {
  const TensorType& x = call.input(0);
  if (!is_floating(x.dtype)) throw call.error("computes in floats only");
  check_pooled(call, call.input(1).shape, x.shape);
  check_position(call);
  return {{x.dtype, call.input(1).shape}};
}

std::vector<TensorType> infer_avg(const OpCall& call) {
  require_floating(call);
  return {{call.input(0).dtype, pooled(call, call.input(0).shape)}};
}

std::vector<TensorType> infer_avg_gradient(const OpCall& call) {
  require_floating(call);
  const Shape& shape = call.attributes.get<Shape>("shape");
  check_pooled(call, call.input(0).shape, shape);
  return {{call.input(0).dtype, shape}};
}

// Calls body(x index, y index, position) for every pixel inside a window.
template <class Body>
void for_each_tap(const OpCall& call, const Shape& x, const Shape& y,
                  Body&& body) {
  const Window window = pool_window(call);
  std::size_t result = 0;
  // The loops run in the order in which y lies in memory, so results are
  // counted rather than computed from four indices.
  for (Dim n = 0; n < y[0]; ++n)
    for (Dim row = 0; row < y[1]; ++row)
      for (Dim column = 0; column < y[2]; ++column)
        for (Dim channel = 0; channel < y[3]; ++channel, ++result) {
          std::int64_t position = -1;
          for (Dim tap_row = 0; tap_row < window.rows.kernel; ++tap_row)
            for (Dim tap_column = 0; tap_column < window.columns.kernel;
                 ++tap_column) {
              // Taps in the padding have a position too: the same tap has the
              // same number in every window.
              ++position;
              const std::int64_t r = window.rows.position(row, tap_row);
              const std::int64_t c =
                  window.columns.position(column, tap_column);
              // Padding takes no part: it never wins a maximum and does not
              // count in a mean.
              if (r < 0 || r >= x[1] || c < 0 || c >= x[2]) continue;
              body(static_cast<std::size_t>(((n * x[1] + r) * x[2] + c) * x[3] +
                                            channel),
                   result, position);
            }
        }
}

void max_pool_reference(const OpCall& call, std::span<const TensorView> inputs,
                        std::span<const TensorView> outputs) {
  const auto x = to_doubles(inputs[0]);
  std::vector<double> y(static_cast<std::size_t>(outputs[0].size()));
  // A window that has seen no pixel yet has position -1.
  std::vector<double> position(y.size(), -1);
  for_each_tap(call, inputs[0].shape(), outputs[0].shape(),
               [&](std::size_t i, std::size_t o, std::int64_t tap) {
                 // The first maximum wins; a NaN wins over every number.
                 if (position[o] >= 0 && !(x[i] > y[o]) &&
                     (x[i] == x[i] || y[o] != y[o])) {
                   return;
                 }
                 y[o] = x[i];
                 position[o] = static_cast<double>(tap);
               });
  from_doubles(y, outputs[0]);
  from_doubles(position, outputs[1]);
}

void scatter_reference(const OpCall& call, std::span<const TensorView> inputs,
                       std::span<const TensorView> outputs) {
  const auto dy = to_doubles(inputs[0]);
  const auto position = to_doubles(inputs[1]);
  std::vector<double> dx(static_cast<std::size_t>(outputs[0].size()));
  for_each_tap(call, outputs[0].shape(), inputs[0].shape(),
               [&](std::size_t i, std::size_t o, std::int64_t tap) {
                 // Windows may overlap, so that one pixel is the maximum of
                 // several.
                 if (position[o] == static_cast<double>(tap)) dx[i] += dy[o];
               });
  from_doubles(dx, outputs[0]);
}

void pool_gather_reference(const OpCall& call,
                           std::span<const TensorView> inputs,
                           std::span<const TensorView> outputs) {
  const auto x = to_doubles(inputs[0]);
  const auto position = to_doubles(inputs[1]);
  std::vector<double> y(static_cast<std::size_t>(outputs[0].size()));
  // A window whose position lies in the padding keeps 0: no tap matches it.
  for_each_tap(call, inputs[0].shape(), outputs[0].shape(),
               [&](std::size_t i, std::size_t o, std::int64_t tap) {
                 if (position[o] == static_cast<double>(tap)) y[o] = x[i];
               });
  from_doubles(y, outputs[0]);
}

// How many pixels each window's mean is over. They are fewer at the edges,
// where windows hang over, unless padding counts.
std::vector<double> tap_counts(const OpCall& call, const Shape& x,
                               const Shape& y) {
  std::vector<double> counts(static_cast<std::size_t>(y.num_elements()));
  if (call.attributes.flag("counts_padding")) {
    const Window window = pool_window(call);
    std::ranges::fill(counts, static_cast<double>(window.rows.kernel *
                                                  window.columns.kernel));
    return counts;
  }
  for_each_tap(call, x, y, [&](std::size_t, std::size_t o, std::int64_t) {
    counts[o] += 1;
  });
  return counts;
}

void avg_reference(const OpCall& call, std::span<const TensorView> inputs,
                   std::span<const TensorView> outputs) {
  const Shape& shape = outputs[0].shape();
  const auto x = to_doubles(inputs[0]);
  const auto counts = tap_counts(call, inputs[0].shape(), shape);
  std::vector<double> y(counts.size());
  // This is y = Σ x / count, divided term by term so that the gradient below is
  // the same matrix, transposed.
  for_each_tap(call, inputs[0].shape(), shape,
               [&](std::size_t i, std::size_t o, std::int64_t) {
                 y[o] += x[i] / counts[o];
               });
  from_doubles(y, outputs[0]);
}

void avg_gradient_reference(const OpCall& call,
                            std::span<const TensorView> inputs,
                            std::span<const TensorView> outputs) {
  const Shape& shape = inputs[0].shape();
  const auto dy = to_doubles(inputs[0]);
  const auto counts = tap_counts(call, outputs[0].shape(), shape);
  std::vector<double> dx(static_cast<std::size_t>(outputs[0].size()));
  // This is dx = Σ dy / count, over all windows that see the pixel.
  for_each_tap(call, outputs[0].shape(), shape,
               [&](std::size_t i, std::size_t o, std::int64_t) {
                 dx[i] += dy[o] / counts[o];
               });
  from_doubles(dx, outputs[0]);
}

Value scatter(const Value& dy, const Value& position, const Shape& shape,
              const Attributes& windows) {
  static const OpDef& op = op_registry().get("max_pool_scatter");
  Attributes attributes = same_windows(windows);
  attributes.set("shape", shape);
  return call(op, {&dy, &position}, attributes, {});
}

Value gather(const Value& x, const Value& position, const Attributes& windows) {
  static const OpDef& op = op_registry().get("max_pool_gather");
  return call(op, {&x, &position}, same_windows(windows), {});
}

Gradients max_gradient(const GradientContext& g) {
  // Positions are integers, through which nothing flows. No dy for the values
  // then means no dx at all.
  if (!g.dy(0).is_defined()) return {Value()};
  return {scatter(g.dy(0), g.y(1), g.x(0).shape(), g.attributes())};
}

// A gather takes each element from the place that the scatter adds it to, so
// each is the other's transpose.
Gradients scatter_gradient(const GradientContext& g) {
  return {gather(g.dy(), g.x(1), g.attributes()), Value()};
}

Gradients pool_gather_gradient(const GradientContext& g) {
  return {scatter(g.dy(), g.x(1), g.x(0).shape(), g.attributes()), Value()};
}

// Averaging is linear, so its gradient needs dy and the image's shape only.
Gradients avg_gradient(const GradientContext& g) {
  static const OpDef& op = op_registry().get("avg_pool_gradient");
  Attributes attributes = same_means(g.attributes());
  attributes.set("shape", g.x(0).shape());
  return {call(op, {&g.dy()}, attributes, {})};
}

Gradients avg_gradient_gradient(const GradientContext& g) {
  static const OpDef& op = op_registry().get("avg_pool");
  return {call(op, {&g.dy()}, same_means(g.attributes()), {})};
}

// It takes one comparison or addition per tap.
Cost pool_cost(const OpCall& call) {
  const Integers& window = call.attributes.integers("window");
  return Cost::of(
      call, static_cast<double>(window[0] * window[1]) *
                static_cast<double>(call.outputs[0].shape.num_elements()));
}

struct PoolCase {
  Shape x;
  PoolOptions options;
};

// Windows that meet, overlap, leave gaps, and hang over the edge.
std::vector<PoolCase> pool_cases() {
  return {{{2, 4, 6, 3}, {}},
          {{1, 7, 5, 2}, {{3, 3}, {2, 2}, {1, 1, 1, 1}}},
          {{2, 5, 5, 17}, {{3, 2}, {1, 1}, {0, 0, 0, 0}}},
          {{1, 5, 6, 1}, {{2, 2}, {3, 3}, {0, 1, 1, 0}}}};
}

Shape pooled_shape(const PoolCase& c) {
  const std::vector<TensorType> inputs = {{DType::kF32, c.x}};
  const OpDef& op = op_registry().get("avg_pool");
  return op.infer_types(inputs, op.complete(to_attributes(c.options)))[0].shape;
}

std::vector<OpSample> image_samples() {
  std::vector<OpSample> all;
  for (const PoolCase& c : pool_cases()) {
    all.push_back({{{{DType::kF32, c.x}}}, to_attributes(c.options)});
  }
  all.push_back({{{{DType::kBF16, pool_cases()[1].x}}},
                 to_attributes(pool_cases()[1].options)});
  return all;
}

// Padding counts where windows leave gaps.
std::vector<OpSample> avg_samples() {
  std::vector<OpSample> all = image_samples();
  all[3].attributes.set("counts_padding", true);
  return all;
}

InputSample position_sample(const PoolCase& c) {
  const Integers& window = c.options.window;
  return {{DType::kU8, pooled_shape(c)},
          0,
          static_cast<double>(window[0] * window[1]) - 0.01,
          false};
}

std::vector<OpSample> scatter_samples() {
  std::vector<OpSample> all;
  for (const PoolCase& c : pool_cases()) {
    Attributes attributes = to_attributes(c.options);
    attributes.set("shape", c.x);
    all.push_back(
        {{{{DType::kF32, pooled_shape(c)}}, position_sample(c)}, attributes});
  }
  return all;
}

std::vector<OpSample> pool_gather_samples() {
  std::vector<OpSample> all;
  for (const PoolCase& c : pool_cases()) {
    all.push_back(
        {{{{DType::kF32, c.x}}, position_sample(c)}, to_attributes(c.options)});
  }
  return all;
}

std::vector<OpSample> avg_gradient_samples() {
  std::vector<OpSample> all;
  for (const PoolCase& c : pool_cases()) {
    Attributes attributes = to_attributes(c.options);
    attributes.set("shape", c.x);
    all.push_back({{{{DType::kF32, pooled_shape(c)}}}, attributes});
  }
  all[3].attributes.set("counts_padding", true);
  return all;
}

OpDef& add_windows(OpDef& op) {
  // The defaults of PoolOptions are filled in before a call is made, so that a
  // graph says what it means.
  return op.required("window", Integers{2, 2})
      .required("strides", Integers{2, 2})
      .attribute("padding", Integers{0, 0, 0, 0})
      .cost(pool_cost);
}

Attributes onnx_pool(const Attributes& a) {
  const Integers& padding = a.integers("padding");
  return {{"kernel_shape", a.integers("window")},
          {"strides", a.integers("strides")},
          {"pads", Integers{padding[0], padding[2], padding[1], padding[3]}}};
}

void export_max_pool(OnnxContext& c) {
  if (c.is_read(1)) {
    throw c.unsupported("ONNX has no places of maxima within their windows");
  }
  c.set_image(c.emit("MaxPool", {c.image(0)}, onnx_pool(c.attributes())));
}

void export_avg_pool(OnnxContext& c) {
  Attributes attributes = onnx_pool(c.attributes());
  attributes.set("count_include_pad",
                 std::int64_t{c.attributes().flag("counts_padding")});
  c.set_image(c.emit("AveragePool", {c.image(0)}, attributes));
}

}  // namespace

void register_pool(OpRegistry& ops) {
  add_windows(ops.add("max_pool"))
      .summary("maxima of windows, and where in its window each one stood")
      .signature("(x) -> y, position")
      .infer(infer_max)
      .reference(max_pool_reference)
      .gradient(max_gradient)
      .batch(batch_images<1>)
      .onnx(export_max_pool)
      .samples(image_samples);
  add_windows(ops.add("max_pool_scatter"))
      .summary("adds each element at its position of its window")
      .signature("(dy, position) -> dx")
      .required("shape", Shape())
      .infer(infer_scatter)
      .reference(scatter_reference)
      .gradient(scatter_gradient)
      .batch(batch_images<2>, sum_of_linear_in_first)
      .samples(scatter_samples);
  add_windows(ops.add("max_pool_gather"))
      .summary("the elements at the given positions of the windows")
      .signature("(x, position) -> y")
      .infer(infer_pool_gather)
      .reference(pool_gather_reference)
      .gradient(pool_gather_gradient)
      .batch(batch_images<2>, sum_of_linear_in_first)
      .samples(pool_gather_samples);
  add_windows(ops.add("avg_pool"))
      .summary("means of windows; padding does not count unless it is said to")
      .signature("(x) -> y")
      .attribute("counts_padding", false)
      .infer(infer_avg)
      .reference(avg_reference)
      .gradient(avg_gradient)
      .batch(batch_images<1>, sum_of_linear)
      .onnx(export_avg_pool)
      .samples(avg_samples);
  add_windows(ops.add("avg_pool_gradient"))
      .summary("the transpose of avg_pool")
      .signature("(dy) -> dx")
      .required("shape", Shape())
      .attribute("counts_padding", false)
      .infer(infer_avg_gradient)
      .reference(avg_gradient_reference)
      .gradient(avg_gradient_gradient)
      .batch(batch_images<1>, sum_of_linear)
      .samples(avg_gradient_samples);
}

Value max_pool(const Operand& x, const PoolOptions& options) {
  static const OpDef& op = op_registry().get("max_pool");
  return std::move(
      call_all(op, {x.value, 1}, to_attributes(options), x.location).front());
}

Value avg_pool(const Operand& x, const PoolOptions& options,
               bool counts_padding) {
  static const OpDef& op = op_registry().get("avg_pool");
  Attributes attributes = to_attributes(options);
  attributes.set("counts_padding", counts_padding);
  return call(op, {x.value}, attributes, x.location);
}

}  // namespace weft
