#include "weft/ops/support/resizing.h"

#include <algorithm>
#include <cmath>

#include "weft/base/index.h"

namespace weft {
namespace {

// Where pixel `i` of `to` lies on an axis of `from` pixels.
double resize_place(std::int64_t i, std::int64_t from, std::int64_t to,
                    bool align_corners) {
  const auto index = static_cast<double>(i);
  if (align_corners) {
    // One pixel cannot lie on both corners; 0 / 0 is avoided.
    if (to == 1) return 0;
    return index * static_cast<double>(from - 1) / static_cast<double>(to - 1);
  }
  // Pixels are areas, whose middles lie at half numbers: this is what ONNX
  // calls "half_pixel".
  return (index + 0.5) * static_cast<double>(from) / static_cast<double>(to) -
         0.5;
}

ResizeTaps resize_taps(std::int64_t from, std::int64_t to, bool bilinear,
                       bool align_corners) {
  ResizeTaps taps;
  for (std::int64_t i = 0; i < to; ++i) {
    const double last = static_cast<double>(from - 1);
    // Beyond the middle of the outermost pixels their color goes on.
    const double place =
        std::clamp(resize_place(i, from, to, align_corners), 0.0, last);
    if (!bilinear) {
      // From the middle between two on, it is the second.
      const double nearest = std::min(std::floor(place + 0.5), last);
      taps.push_back({{static_cast<std::int64_t>(nearest), 1}});
      continue;
    }
    const double before = std::floor(place);
    const double share = place - before;
    const auto index = static_cast<std::int64_t>(before);
    taps.push_back({{index, 1 - share}});
    // At the last pixel the share is 0, so that no tap lies outside.
    if (share > 0) taps.back().push_back({index + 1, share});
  }
  return taps;
}

// A kernel then gathers for the gradient too: threads write places of their
// own, where scattering would make them meet.
ResizeTaps transposed_taps(const ResizeTaps& taps, std::int64_t size) {
  ResizeTaps result(at(size));
  for (std::size_t i = 0; i < taps.size(); ++i) {
    for (const auto& [from, weight] : taps[i]) {
      result[at(from)].push_back({static_cast<std::int64_t>(i), weight});
    }
  }
  return result;
}

}  // namespace

Resizing resizing_of(const OpCall& call) {
  const bool is_gradient = call.op.name() == "resize_gradient";
  const Shape& image =
      is_gradient ? call.attributes.get<Shape>("shape") : call.input(0).shape;
  const Integers& size = call.attributes.integers("size");
  const bool bilinear = call.attributes.text("method") == "bilinear";
  const bool align_corners = call.attributes.flag("align_corners");
  const auto taps = [&](int axis) {
    const std::int64_t from = image[1 + axis];
    // The gradient's image is the op's input, whose size its own operand does
    // not tell.
    const auto forward =
        resize_taps(from, size[at(axis)], bilinear, align_corners);
    return is_gradient ? transposed_taps(forward, from) : forward;
  };
  return {taps(0), taps(1)};
}

}  // namespace weft
