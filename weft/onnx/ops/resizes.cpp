// Resize and Upsample. What the engine's resize can do is left to it; other
// forms are, along one axis after another, a gather (nearest) or a product with
// a matrix of weights.
#include <algorithm>
#include <cmath>

#include "weft/base/index.h"
#include "weft/onnx/elementwise.h"
#include "weft/onnx/resizing.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/index.h"
#include "weft/ops/matmul.h"
#include "weft/ops/resize.h"
#include "weft/ops/shape.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft::onnx {
namespace {

constexpr std::int64_t kMostSide = 1 << 20;

// The axes that change, by ONNX's number.
struct ResizePlan {
  std::vector<int> axes;
  std::vector<ResizeAxis> along;
  double outside = 0;  // what lies outside of the region
};

std::int64_t resized_side(const OnnxNode& node, double size) {
  if (!(size >= 1 && size <= static_cast<double>(kMostSide))) {
    throw node.unsupported("a side of {}", size);
  }
  return static_cast<std::int64_t>(size);
}

// Scales and sizes are operands; of both, one is given. A size with symbols is
// that of an axis which stays.
void set_sizes(const OnnxNode& node, ResizePlan& plan, const Shape& shape,
               std::span<const double> scales, const Extents& sizes) {
  for (std::size_t i = 0; i < plan.axes.size(); ++i) {
    ResizeAxis& axis = plan.along[i];
    const Dim from = shape[plan.axes[i]];
    const bool stays =
        sizes.empty() ? scales[i] == 1 : Extent::of(from) == sizes[i];
    if (!is_symbolic(from)) axis.from = axis.to = from;
    if (stays) continue;
    if (is_symbolic(from) || (!sizes.empty() && sizes[i].is_symbolic)) {
      throw node.unsupported("resizes an axis of unknown size");
    }
    if (from < 1) throw node.damaged("resizes nothing");
    if (sizes.empty()) {
      axis.scale = scales[i];
      axis.to =
          resized_side(node, std::floor(static_cast<double>(from) * scales[i]));
    } else {
      axis.to = resized_side(node, static_cast<double>(sizes[i].value));
      axis.scale =
          static_cast<double>(axis.to) / static_cast<double>(axis.from);
    }
  }
}

// One scale for all axes, the largest that fits or the smallest that covers.
void keep_aspect(const OnnxNode& node, ResizePlan& plan, const Shape& shape) {
  const std::string policy = node.text("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch") return;
  for (const int axis : plan.axes) {
    if (is_symbolic(shape[axis])) {
      throw node.unsupported("keeps the aspect of an axis of unknown size");
    }
  }
  double scale = plan.along[0].scale;
  for (const ResizeAxis& axis : plan.along) {
    scale = policy == "not_larger" ? std::min(scale, axis.scale)
                                   : std::max(scale, axis.scale);
  }
  for (ResizeAxis& axis : plan.along) {
    axis.scale = scale;
    axis.to = resized_side(
        node, std::floor(scale * static_cast<double>(axis.from) + 0.5));
  }
}

std::vector<double> known_reals(const OnnxNode& node, std::size_t operand) {
  const Tensor tensor = node.known(operand);
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    numbers.push_back(tensor.item(i));
  }
  return numbers;
}

ResizePlan plan_of(const OnnxNode& node) {
  const Shape shape = node.operand(0).type().shape;
  const bool is_old = node.opset() < 11;  // scales are operand 1
  ResizePlan plan;
  Integers axes;
  for (int axis = 0; axis < shape.rank(); ++axis) axes.push_back(axis);
  for (const std::int64_t axis : node.integers("axes", axes)) {
    plan.axes.push_back(normalize_axis(axis, shape.rank(), "Resize"));
  }
  plan.outside = node.real("extrapolation_value", 0);
  ResizeAxis common;
  common.mode = node.text("mode", "nearest");
  if (common.mode == "bilinear") common.mode = "linear";  // opset 7
  common.coordinates = node.text("coordinate_transformation_mode",
                                 is_old ? "asymmetric" : "half_pixel");
  common.nearest =
      node.text("nearest_mode", is_old ? "floor" : "round_prefer_floor");
  common.cubic_a = node.real("cubic_coeff_a", -0.75);
  common.excludes_outside = node.integer("exclude_outside", 0) != 0;
  common.is_antialiased = node.integer("antialias", 0) != 0;
  plan.along.assign(plan.axes.size(), common);
  std::vector<double> scales;
  Extents sizes;
  const std::size_t scales_at = is_old ? 1 : 2;
  if (!is_old && node.has(3)) sizes = node.extents(3);
  if (sizes.empty() && node.has(scales_at)) {
    scales = known_reals(node, scales_at);
  } else if (sizes.empty()) {
    for (const float scale : node.reals("scales")) scales.push_back(scale);
  }
  if (std::max(scales.size(), sizes.size()) != plan.axes.size()) {
    throw node.damaged("{} scales or sizes for {} axes",
                       std::max(scales.size(), sizes.size()), plan.axes.size());
  }
  set_sizes(node, plan, shape, scales, sizes);
  if (!sizes.empty()) keep_aspect(node, plan, shape);
  if (common.coordinates == "tf_crop_and_resize") {
    const std::vector<double> region = known_reals(node, 1);
    if (region.size() != 2 * plan.axes.size()) {
      throw node.damaged("a region of {} numbers", region.size());
    }
    for (std::size_t i = 0; i < plan.axes.size(); ++i) {
      plan.along[i].region = {region[i], region[plan.axes.size() + i]};
    }
  }
  return plan;
}

// Whether the engine's op does the same: pixels by their middles or corners,
// with sizes that are the scales'.
std::optional<Value> resized_by_op(const OnnxNode& node,
                                   const ResizePlan& plan) {
  const OnnxValue& x = node.operand(0);
  if (x.rank() != 4 || !is_floating(x.type().dtype)) return std::nullopt;
  Integers size(2, 0);
  const Shape shape = x.type().shape;
  for (int side = 0; side < 2; ++side) {
    if (is_symbolic(shape[2 + side])) return std::nullopt;
    size[at(side)] = shape[2 + side];
  }
  bool align_corners = false;
  for (std::size_t i = 0; i < plan.axes.size(); ++i) {
    const ResizeAxis& axis = plan.along[i];
    const int side = plan.axes[i] - 2;
    if (side < 0) {
      if (axis.scale != 1) return std::nullopt;
      continue;
    }
    align_corners = axis.coordinates == "align_corners";
    const bool has_middles =
        axis.coordinates == "half_pixel" ||
        (axis.coordinates == "pytorch_half_pixel" && axis.to > 1);
    if (axis.mode != "linear" || axis.is_antialiased || axis.excludes_outside ||
        !(align_corners || has_middles) ||
        axis.scale !=
            static_cast<double>(axis.to) / static_cast<double>(axis.from)) {
      return std::nullopt;
    }
    size[at(side)] = axis.to;
  }
  return resize(x.last(), size[0], size[1],
                {.bilinear = true, .align_corners = align_corners});
}

// [places, from] weights, as a constant.
Value weights_of(const std::vector<ResizePlace>& places, std::int64_t from,
                 DType dtype) {
  Tensor weights =
      Tensor::zeros({DType::kF64, {static_cast<Dim>(places.size()), from}});
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (const auto& [place, weight] : places[i].taps) {
      weights.data<double>()[static_cast<std::int64_t>(i) * from + place] +=
          weight;
    }
  }
  const ContextScope eager(eager_context());
  return to_dtype(weights, dtype);
}

Value resized_along(const Value& x, int axis, const ResizeAxis& how,
                    double outside) {
  constexpr std::int64_t kMostWeights = 1 << 26;
  if (how.mode != "nearest" && how.from > kMostWeights / how.to) {
    throw Error(ErrorCode::kUnsupported, "Resize",
                "weighs {} places for each of {}", how.from, how.to);
  }
  const auto places = resize_places(how);
  const Shape& shape = x.shape();
  Value y;
  if (how.mode == "nearest") {
    std::vector<std::int64_t> from;
    for (const ResizePlace& place : places) {
      from.push_back(place.taps[0].first);
    }
    y = gather(
        x,
        Value(Tensor::of<std::int64_t>({static_cast<Dim>(from.size())}, from)),
        axis);
  } else {
    const Dim before = dim_product(shape.first(axis));
    const Dim behind = dim_product(shape.last(shape.rank() - axis - 1));
    Shape result = shape;
    result[axis] = how.to;
    const Value product = matmul(weights_of(places, how.from, x.dtype()),
                                 reshape(x, {before, shape[axis], behind}));
    y = reshape(product, result);
  }
  const bool has_outside =
      std::ranges::any_of(places, &ResizePlace::is_outside);
  if (!has_outside) return y;
  Tensor inside =
      Tensor::empty({DType::kBool, {static_cast<Dim>(places.size())}});
  for (std::size_t i = 0; i < places.size(); ++i) {
    inside.data<bool>()[i] = !places[i].is_outside;
  }
  Shape along;
  along.resize(shape.rank(), 1);
  along[axis] = how.to;
  return where(reshape(Value(inside), along), y, scalar_like(y, outside));
}

void import_resize(OnnxNode& node) {
  const ResizePlan plan = plan_of(node);
  if (const auto y = resized_by_op(node, plan)) {
    return node.set(OnnxValue::channels_last(*y));
  }
  const InPlace x(node.operand(0));
  const DType dtype = x.value.dtype();
  const bool weighs = !plan.along.empty() && plan.along[0].mode != "nearest";
  Value y =
      weighs && !is_floating(dtype) ? cast(x.value, DType::kF64) : x.value;
  for (std::size_t i = 0; i < plan.axes.size(); ++i) {
    const ResizeAxis& axis = plan.along[i];
    const bool stays = axis.scale == 1 && axis.to == axis.from &&
                       axis.region == std::array<double, 2>{0, 1};
    if (!stays) {
      y = resized_along(y, x.axis(plan.axes[i]), axis, plan.outside);
    }
  }
  node.set(x.result(to_dtype(y, dtype)));
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_resizes(OnnxRegistry& ops) {
  ops.add({.name = "Resize", .since = 10, .import = onnx::import_resize});
  ops.add({.name = "Upsample", .import = onnx::import_resize});
}

}  // namespace weft
