#include "weft/onnx/resizing.h"

#include <algorithm>
#include <cmath>

namespace weft::onnx {
namespace {

// Where a new place lies on the old axis.
double resize_source(const ResizeAxis& axis, std::int64_t place) {
  const auto x = static_cast<double>(place);
  const auto from = static_cast<double>(axis.from);
  const double to = axis.scale * from;
  if (axis.coordinates == "half_pixel") return (x + 0.5) / axis.scale - 0.5;
  if (axis.coordinates == "asymmetric") return x / axis.scale;
  if (axis.coordinates == "align_corners") {
    return to == 1 ? 0 : x * (from - 1) / (to - 1);
  }
  if (axis.coordinates == "pytorch_half_pixel") {
    return axis.to == 1 ? 0 : (x + 0.5) / axis.scale - 0.5;
  }
  if (axis.coordinates == "half_pixel_symmetric") {
    const double adjustment = static_cast<double>(axis.to) / to;
    return from / 2 * (1 - adjustment) + (x + 0.5) / axis.scale - 0.5;
  }
  if (axis.coordinates == "tf_crop_and_resize") {
    const auto [begin, end] = axis.region;
    const double inner = axis.to == 1
                             ? (end - begin) * (from - 1) / 2
                             : x * (end - begin) * (from - 1) / (to - 1);
    return inner + begin * (from - 1);
  }
  throw Error(ErrorCode::kDataLoss, "Resize", "there are no coordinates '{}'",
              axis.coordinates);
}

std::int64_t nearest_place(const ResizeAxis& axis, double source) {
  const double below = std::floor(source);
  const double share = source - below;
  double place = below;
  if (axis.nearest == "round_prefer_floor") {
    place = share <= 0.5 ? below : below + 1;
  } else if (axis.nearest == "round_prefer_ceil") {
    place = share < 0.5 ? below : below + 1;
  } else if (axis.nearest == "ceil") {
    place = std::ceil(source);
  } else if (axis.nearest != "floor") {
    throw Error(ErrorCode::kDataLoss, "Resize", "there is no nearest '{}'",
                axis.nearest);
  }
  return static_cast<std::int64_t>(place);
}

// Keys, "Cubic convolution interpolation", 1981.
double cubic_weight(double distance, double a) {
  const double x = std::fabs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

double linear_weight(double distance) {
  return std::max(0.0, 1 - std::fabs(distance));
}

// Weights of all places that the kernel reaches. Where an image becomes
// smaller, an antialiased kernel is as much wider.
std::vector<std::pair<std::int64_t, double>> kernel_taps(const ResizeAxis& axis,
                                                         double source) {
  const bool is_cubic = axis.mode == "cubic";
  const double shrink = axis.is_antialiased ? std::min(axis.scale, 1.0) : 1.0;
  const double reach = (is_cubic ? 2 : 1) / shrink;
  std::vector<std::pair<std::int64_t, double>> taps;
  const auto first = static_cast<std::int64_t>(std::floor(source - reach)) + 1;
  const auto last = static_cast<std::int64_t>(std::ceil(source + reach)) - 1;
  double total = 0;
  for (std::int64_t i = first; i <= last; ++i) {
    if (axis.excludes_outside && (i < 0 || i >= axis.from)) continue;
    const double distance = (static_cast<double>(i) - source) * shrink;
    const double weight = is_cubic ? cubic_weight(distance, axis.cubic_a)
                                   : linear_weight(distance);
    if (weight == 0) continue;
    taps.emplace_back(i, weight);
    total += weight;
  }
  // Weights add up to 1 by themselves, unless some were left out.
  if (axis.is_antialiased || axis.excludes_outside) {
    for (auto& [place, weight] : taps) weight /= total;
  }
  return taps;
}

}  // namespace

std::vector<ResizePlace> resize_places(const ResizeAxis& axis) {
  if (axis.mode != "nearest" && axis.mode != "linear" && axis.mode != "cubic") {
    throw Error(ErrorCode::kDataLoss, "Resize", "there is no mode '{}'",
                axis.mode);
  }
  std::vector<ResizePlace> places;
  for (std::int64_t i = 0; i < axis.to; ++i) {
    const double source = resize_source(axis, i);
    ResizePlace place;
    place.is_outside =
        axis.coordinates == "tf_crop_and_resize" &&
        (source < 0 || source > static_cast<double>(axis.from - 1));
    if (axis.mode == "nearest") {
      place.taps.emplace_back(nearest_place(axis, source), 1);
    } else {
      place.taps = kernel_taps(axis, source);
    }
    // Beyond the ends the outermost element goes on.
    for (auto& [from, weight] : place.taps) {
      from = std::clamp<std::int64_t>(from, 0, axis.from - 1);
    }
    places.push_back(std::move(place));
  }
  return places;
}

}  // namespace weft::onnx
