// resize is linear in the image; its gradient is the transpose. Each is the
// other's gradient.
#include "weft/ops/resize.h"

#include "weft/graph/gradient.h"
#include "weft/graph/registry.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/doubles.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/resizing.h"
#include "weft/ops/support/samples.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

// The type of what `image` is resized to.
TensorType resized(const OpCall& call, const TensorType& image) {
  const std::string& method = call.attributes.text("method");
  if (method != "nearest" && method != "bilinear") {
    throw call.error("no method called '{}'", method)
        .hint("nearest or bilinear");
  }
  const Shape& shape = image.shape;
  // Channels lie side by side, so that a pixel is copied or weighed as a whole.
  if (shape.rank() != 4 || !is_floating(image.dtype)) {
    throw call.error("images are floats [batch, rows, columns, channels]");
  }
  if (is_symbolic(shape[1]) || is_symbolic(shape[2]) || shape[1] < 1 ||
      shape[2] < 1) {
    throw call.error("the image must have known rows and columns");
  }
  const Integers& size = call.attributes.integers("size");
  if (size.size() != 2 || size[0] < 1 || size[1] < 1) {
    throw call.error("size must be rows and columns");
  }
  // Each of them has a list of the pixels that it is made from.
  // The size comes from attributes, which a file may set to anything.
  constexpr std::int64_t kMost = 1 << 20;
  for (const std::int64_t side : {size[0], size[1], shape[1], shape[2]}) {
    if (side > kMost) throw call.error("no side may exceed {}", kMost);
  }
  return {image.dtype, {shape[0], size[0], size[1], shape[3]}};
}

std::vector<TensorType> infer_resize(const OpCall& call) {
  return {resized(call, call.input(0))};
}

std::vector<TensorType> infer_resize_gradient(const OpCall& call) {
  const TensorType image{call.input(0).dtype,
                         call.attributes.get<Shape>("shape")};
  const TensorType expected = resized(call, image);
  if (!(call.input(0) == expected)) {
    throw call.error("dy must be {}", to_string(expected));
  }
  return {image};
}

void resize_reference(const OpCall& call, std::span<const TensorView> inputs,
                      std::span<const TensorView> outputs) {
  const Shape& from = inputs[0].shape();
  const Shape& to = outputs[0].shape();
  // The same lists of taps serve the op and its gradient: for the latter they
  // say which pixels of dy a pixel of dx takes part in.
  const Resizing resizing = resizing_of(call);
  const auto x = to_doubles(inputs[0]);
  std::vector<double> y;
  // Rows and columns are weighed apart, as both methods are products of one for
  // each axis.
  for (Dim n = 0; n < to[0]; ++n)
    for (const auto& row_taps : resizing.rows)
      for (const auto& column_taps : resizing.columns)
        for (Dim channel = 0; channel < to[3]; ++channel) {
          double sum = 0;
          for (const auto& [row, row_weight] : row_taps)
            for (const auto& [column, column_weight] : column_taps) {
              const Dim pixel = (n * from[1] + row) * from[2] + column;
              sum += row_weight * column_weight *
                     x[static_cast<std::size_t>(pixel * from[3] + channel)];
            }
          y.push_back(sum);
        }
  from_doubles(y, outputs[0]);
}

Gradients resize_rule(const GradientContext& g) {
  static const OpDef& op = op_registry().get("resize_gradient");
  Attributes attributes = g.attributes();
  attributes.set("shape", g.x(0).shape());
  return {call(op, {&g.dy()}, attributes, {})};
}

Gradients resize_gradient_rule(const GradientContext& g) {
  const Attributes& a = g.attributes();
  static const OpDef& op = op_registry().get("resize");
  return {call(op, {&g.dy()},
               {{"size", a.integers("size")},
                {"method", a.text("method")},
                {"align_corners", a.flag("align_corners")}},
               {})};
}

// There are two taps on each axis.
Cost resize_cost(const OpCall& call) {
  const Integers& size = call.attributes.integers("size");
  const Shape& shape = call.input(0).shape;
  return Cost::of(call, 8.0 * static_cast<double>(shape[0]) *
                            static_cast<double>(shape[3]) *
                            static_cast<double>(size[0]) *
                            static_cast<double>(size[1]));
}

struct ResizeCase {
  Shape image;
  Integers size;
  std::string method;
  bool align_corners;
  DType dtype = DType::kF32;

  Attributes attributes() const {
    return {
        {"size", size}, {"method", method}, {"align_corners", align_corners}};
  }
  Shape result() const { return {image[0], size[0], size[1], image[3]}; }
};

// Images become larger and smaller, sides of 1 have no corners to be aligned,
// and channels may be more than a vector has lanes.
std::vector<ResizeCase> resize_cases() {
  std::vector<ResizeCase> all;
  for (const std::string method : {"nearest", "bilinear"}) {
    for (const bool align_corners : {false, true}) {
      all.push_back({{2, 3, 4, 3}, {6, 8}, method, align_corners});
      all.push_back({{1, 5, 7, 2}, {3, 4}, method, align_corners});
      all.push_back({{1, 2, 1, 1}, {5, 1}, method, align_corners});
      all.push_back({{1, 3, 2, 20}, {1, 3}, method, align_corners});
    }
  }
  all.push_back({{0, 2, 3, 2}, {4, 4}, "bilinear", false});
  all.push_back({{1, 3, 3, 9}, {4, 4}, "bilinear", false, DType::kBF16});
  return all;
}

std::vector<OpSample> resize_samples() {
  std::vector<OpSample> all;
  for (const ResizeCase& c : resize_cases()) {
    all.push_back({{floats(c.image, -1, 1, c.dtype)}, c.attributes()});
  }
  return all;
}

std::vector<OpSample> resize_gradient_samples() {
  std::vector<OpSample> all;
  for (const ResizeCase& c : resize_cases()) {
    Attributes attributes = c.attributes();
    attributes.set("shape", c.image);
    all.push_back({{floats(c.result(), -1, 1, c.dtype)}, attributes});
  }
  return all;
}

OpDef& add_resize_options(OpDef& op) {
  return op.required("size", Integers{1, 1})
      .attribute("method", std::string("bilinear"))
      .attribute("align_corners", false);
}

void export_resize(OnnxContext& c) {
  const Attributes& a = c.attributes();
  const bool is_nearest = a.text("method") == "nearest";
  const Shape& to = c.call().outputs[0].shape;
  // All four sizes are said: onnxruntime moves transpositions through a node
  // that names its axes, and then takes the sizes for others.
  c.set_image(c.emit(
      "Resize", {c.image(0), "", "", c.shape({to[0], to[3], to[1], to[2]})},
      {{"mode", std::string(is_nearest ? "nearest" : "linear")},
       {"coordinate_transformation_mode",
        std::string(a.flag("align_corners") ? "align_corners" : "half_pixel")},
       {"nearest_mode", std::string("round_prefer_ceil")}}));
}

}  // namespace

void register_resize(OpRegistry& ops) {
  add_resize_options(ops.add("resize"))
      .summary("NHWC images of another size, nearest or bilinear")
      .signature("(x) -> y")
      .infer(infer_resize)
      .reference(resize_reference)
      .gradient(resize_rule)
      .batch(batch_images<1>, sum_of_linear)
      .onnx(export_resize)
      .cost(resize_cost)
      .samples(resize_samples);
  add_resize_options(ops.add("resize_gradient"))
      .summary("the transpose of resize")
      .signature("(dy) -> dx")
      .required("shape", Shape())
      .infer(infer_resize_gradient)
      .reference(resize_reference)
      .gradient(resize_gradient_rule)
      .batch(batch_images<1>, sum_of_linear)
      .cost(resize_cost)
      .samples(resize_gradient_samples);
}

Value resize(const Operand& x, std::int64_t rows, std::int64_t columns,
             const ResizeOptions& options) {
  static const OpDef& op = op_registry().get("resize");
  const std::string method = options.bilinear ? "bilinear" : "nearest";
  return call(op, {x.value},
              {{"size", Integers{rows, columns}},
               {"method", method},
               {"align_corners", options.align_corners}},
              x.location);
}

}  // namespace weft
