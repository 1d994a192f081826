// The largest of a line, and the boxes that stay, where kernels take blocks of
// them: against plain sorts and plain comparisons.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <vector>

#include "weft/base/philox.h"
#include "weft/ops/nms.h"
#include "weft/ops/sort.h"
#include "weft/runtime/eager.h"

namespace weft::selection_test {
namespace {

using Positions = std::vector<std::int64_t>;

// Few different numbers, so that many are equal, with NaN and zeros of both
// signs among them.
template <class T>
Tensor line_of(std::int64_t size, std::uint64_t seed, bool has_specials) {
  const Tensor line = Tensor::empty({dtype_of<T>(), {size}});
  const RandomStream random{seed, 0, 0};
  for (std::int64_t i = 0; i < size; ++i) {
    const std::uint32_t word = random.word(static_cast<std::uint64_t>(i));
    float value = static_cast<float>(word % 41) - 20;
    if (has_specials && word % 97 == 0) {
      value = std::numeric_limits<float>::quiet_NaN();
    } else if (has_specials && word % 11 == 0) {
      value = word % 2 == 0 ? -0.0f : 0.0f;
    }
    line.data<T>()[i] = static_cast<T>(value);
  }
  return line;
}

Positions largest_of(const Tensor& line, std::int64_t k) {
  Positions order(static_cast<std::size_t>(line.size()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) {
                     const double p = line.item(a);
                     const double q = line.item(b);
                     if (std::isnan(p) || std::isnan(q))
                       return std::isnan(p) && !std::isnan(q);
                     return p > q;
                   });
  order.resize(static_cast<std::size_t>(k));
  return order;
}

Positions positions_in(const Value& value) {
  const auto* first = value.tensor().data<std::int64_t>();
  return {first, first + value.tensor().size()};
}

template <class T>
void expect_largest(bool has_specials) {
  for (const std::int64_t size : {41, 73, 74, 300, 1031}) {
    for (const std::int64_t k : {1, 10, 64}) {
      const Tensor line =
          line_of<T>(size, static_cast<std::uint64_t>(size + k), has_specials);
      if (k > size) continue;
      EXPECT_EQ(positions_in(top_k(Value(line), k).second), largest_of(line, k))
          << size << " elements, k = " << k;
    }
  }
}

TEST(TopKKernel, KeepsTiesAndNanInOrder) {
  expect_largest<float>(true);
  expect_largest<bfloat16>(true);
  expect_largest<std::int32_t>(false);
}

// The boxes that stay, by the definition: each is compared with all before it.
Positions kept(const std::vector<float>& boxes, const Tensor& scores,
               double threshold, std::size_t most) {
  const auto area = [&](const float* b) {
    return double{b[2] - b[0]} * double{b[3] - b[1]};
  };
  Positions result;
  for (const std::int64_t i : largest_of(scores, scores.size())) {
    const float* box = boxes.data() + 4 * i;
    const bool is_hidden = std::ranges::any_of(result, [&](std::int64_t other) {
      const float* o = boxes.data() + 4 * other;
      const double width = std::min(box[2], o[2]) - std::max(box[0], o[0]);
      const double height = std::min(box[3], o[3]) - std::max(box[1], o[1]);
      if (width <= 0 || height <= 0) return false;
      const double shared = width * height;
      return shared > threshold * (area(box) + area(o) - shared);
    });
    if (!is_hidden && result.size() < most) result.push_back(i);
  }
  result.resize(most, -1);
  return result;
}

// Corners are multiples of 1/8, so that areas are exact; more boxes stay than
// are compared at once.
TEST(NmsKernel, KeepsManyBoxesWithEqualScoresAndNan) {
  constexpr std::int64_t kBoxes = 400;
  const Tensor scores = line_of<float>(kBoxes, 5, true);
  const Tensor boxes = Tensor::empty({DType::kF32, {kBoxes, 4}});
  const RandomStream random{6, 0, 0};
  std::vector<float> corners;
  for (std::uint64_t i = 0; i < kBoxes; ++i) {
    const auto eighths = [&](std::uint64_t n, std::uint32_t count) {
      return static_cast<float>(random.word(4 * i + n) % count) / 8;
    };
    const float left = eighths(0, 64);
    const float top = eighths(1, 64);
    corners.insert(corners.end(), {left, top, left + eighths(2, 16) + 0.125f,
                                   top + eighths(3, 16) + 0.125f});
  }
  std::ranges::copy(corners, boxes.data<float>());
  for (const double threshold : {0.0, 0.25, 0.5, 0.9}) {
    const auto [indices, count] =
        nms(Value(boxes), Value(scores), threshold, 250);
    EXPECT_EQ(positions_in(indices), kept(corners, scores, threshold, 250))
        << threshold;
  }
  const auto all = kept(corners, scores, 0.9, 250);
  EXPECT_GT(std::ranges::count_if(all, [](auto i) { return i >= 0; }), 64);
}

}  // namespace
}  // namespace weft::selection_test
