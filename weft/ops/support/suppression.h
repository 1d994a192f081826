// Greedy suppression of one set of boxes: what nms is, for its reference and
// its kernel.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft {

struct BoxCorners {
  double left, top, right, bottom;

  double area() const { return (right - left) * (bottom - top); }
};

// A box is given by any two opposite corners.
template <class T>
BoxCorners corners_of(const T* box) {
  return {.left = std::min(double{box[0]}, double{box[2]}),
          .top = std::min(double{box[1]}, double{box[3]}),
          .right = std::max(double{box[0]}, double{box[2]}),
          .bottom = std::max(double{box[1]}, double{box[3]})};
}

// Whether two boxes, whose areas are given, share more than a part of what they
// cover together. False for boxes of no area, and for NaN.
inline bool overlap_by_more(const BoxCorners& a, double area_of_a,
                            const BoxCorners& b, double area_of_b,
                            double threshold) {
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const double shared = width * height;
  // No branch: many boxes are compared at once.
  return (width > 0) & (height > 0) &
         (shared > threshold * (area_of_a + area_of_b - shared));
}

// The indices of scores, the highest first; of equal ones the lower index. NaN
// is above every number, as where a row is sorted.
template <class T>
void order_by_score(const T* scores, std::int64_t n, std::int64_t* order) {
  for (std::int64_t i = 0; i < n; ++i) order[i] = i;
  std::sort(order, order + n, [&](std::int64_t a, std::int64_t b) {
    const bool a_is_nan = scores[a] != scores[a];
    const bool b_is_nan = scores[b] != scores[b];
    if (a_is_nan != b_is_nan) return a_is_nan;
    if (scores[a] != scores[b] && !a_is_nan) return scores[a] > scores[b];
    return a < b;
  });
}

// Writes the indices of at most `most` boxes; returns how many. `order` has
// room for all n, and is scratch.
template <class T>
std::int64_t suppress(const T* boxes, const T* scores, std::int64_t n,
                      double threshold, std::int64_t most, std::int64_t* order,
                      std::int64_t* indices) {
  order_by_score(scores, n, order);
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < n && count < most; ++i) {
    const BoxCorners box = corners_of(boxes + 4 * order[i]);
    const bool is_hidden =
        std::any_of(indices, indices + count, [&](std::int64_t kept) {
          const BoxCorners other = corners_of(boxes + 4 * kept);
          return overlap_by_more(other, other.area(), box, box.area(),
                                 threshold);
        });
    if (!is_hidden) indices[count++] = order[i];
  }
  std::fill(indices + count, indices + most, -1);
  return count;
}

}  // namespace weft
