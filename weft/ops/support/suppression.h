// Greedy suppression of one set of boxes: what nms is, for its reference and
// its kernel.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft {

template <class T>
struct BoxCorners {
  double left, top, right, bottom;

  explicit BoxCorners(const T* box)
      : left(std::min(double{box[0]}, double{box[2]})),
        top(std::min(double{box[1]}, double{box[3]})),
        right(std::max(double{box[0]}, double{box[2]})),
        bottom(std::max(double{box[1]}, double{box[3]})) {}

  double area() const { return (right - left) * (bottom - top); }
};

// False for boxes of no area, and for NaN.
template <class T>
bool overlap_by_more(const T* a, const T* b, double threshold) {
  const BoxCorners<T> one(a);
  const BoxCorners<T> other(b);
  const double width =
      std::min(one.right, other.right) - std::max(one.left, other.left);
  const double height =
      std::min(one.bottom, other.bottom) - std::max(one.top, other.top);
  if (!(width > 0 && height > 0)) return false;
  const double shared = width * height;
  return shared > threshold * (one.area() + other.area() - shared);
}

// Writes the indices of at most `most` boxes; returns how many. `order` has
// room for all n, and is scratch.
template <class T>
std::int64_t suppress(const T* boxes, const T* scores, std::int64_t n,
                      double threshold, std::int64_t most, std::int64_t* order,
                      std::int64_t* indices) {
  for (std::int64_t i = 0; i < n; ++i) order[i] = i;
  // NaN is above every number, as where a row is sorted.
  std::sort(order, order + n, [&](std::int64_t a, std::int64_t b) {
    const bool a_is_nan = scores[a] != scores[a];
    const bool b_is_nan = scores[b] != scores[b];
    if (a_is_nan != b_is_nan) return a_is_nan;
    if (scores[a] != scores[b] && !a_is_nan) return scores[a] > scores[b];
    return a < b;
  });
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < n && count < most; ++i) {
    const T* box = boxes + 4 * order[i];
    const bool is_hidden =
        std::any_of(indices, indices + count, [&](std::int64_t kept) {
          return overlap_by_more(boxes + 4 * kept, box, threshold);
        });
    if (!is_hidden) indices[count++] = order[i];
  }
  std::fill(indices + count, indices + most, -1);
  return count;
}

}  // namespace weft
