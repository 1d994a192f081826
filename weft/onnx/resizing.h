// Along one axis, ONNX's Resize as weights of the places that each new place is
// made of.
//
// Threads: pure functions.
// Source:  the ONNX specification of Resize, opset 19.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "weft/base/error.h"

namespace weft::onnx {

struct ResizeAxis {
  std::int64_t from = 1;
  std::int64_t to = 1;
  double scale = 1;  // to / from, but for rounding
  std::string mode = "nearest";
  std::string coordinates = "half_pixel";
  std::string nearest = "round_prefer_floor";
  double cubic_a = -0.75;
  bool excludes_outside = false;
  bool is_antialiased = false;
  std::array<double, 2> region = {0, 1};  // for tf_crop_and_resize
};

struct ResizePlace {
  std::vector<std::pair<std::int64_t, double>> taps;  // where, and how much
  bool is_outside = false;  // of the region that there is
};

// For each new place. Throws Error(kDataLoss) for a mode that ONNX has not.
std::vector<ResizePlace> resize_places(const ResizeAxis& axis);

}  // namespace weft::onnx
