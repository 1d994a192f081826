// Numbers of shapes, and arithmetic on them. It gives nothing where dims with
// symbols have no such result, or where it depends on what the symbols stand
// for.
//
// Threads: pure functions.
#pragma once

#include <optional>

#include "weft/onnx/value.h"

namespace weft::onnx {

// The shape of these dims. Throws Error(kDataLoss) for a negative number.
Shape shape_of(const Extents& extents);

std::optional<Extent> extent_add(Extent a, Extent b);
std::optional<Extent> extent_subtract(Extent a, Extent b);
std::optional<Extent> extent_multiply(Extent a, Extent b);
// It truncates, as ONNX does of integers; sizes are not negative.
std::optional<Extent> extent_divide(Extent a, Extent b);
std::optional<Extent> extent_remainder(Extent a, Extent b);
std::optional<Extent> extent_max(Extent a, Extent b);
std::optional<Extent> extent_min(Extent a, Extent b);
// Whether they are equal, if that is certain. A dim with symbols is a size: it
// is no negative number.
std::optional<bool> extents_equal(Extent a, Extent b);

}  // namespace weft::onnx
