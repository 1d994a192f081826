#include "weft/train/sync/pair_distances.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/train/sync/pair_distances.cpp"
#include <algorithm>
#include <cmath>
#include <hwy/foreach_target.h>

#include "weft/base/parallel.h"
#include "weft/kernels/simd/doubles.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = simd::hn;
using simd::kLanes;
using simd::Vector;

// Sums of products are in f32 over so many entries, and in f64 over more. Tiles
// of some tens of workers stay in the second cache, those of two blocks of
// workers in the first.
constexpr std::size_t kTile = 1024;
// A pair that is closer than this to one place, compared to the lengths, is
// computed from its differences.
constexpr double kClose = 1e-3;
// Below such squares f32 has lost digits.
constexpr double kTiny = 1e-30;

// Workers whose products are summed in registers, with their vectors beside
// them: AVX-512 has 32, AVX2 has 16.
constexpr std::size_t kRows = 4;
constexpr std::size_t kColumns = kLanes >= 16 ? 4 : 2;

// f64, in two vectors.
double differences(const float* a, const float* b, std::size_t count) {
  const hn::Half<simd::Floats> half;
  auto low = simd::broadcast_double(0);
  auto high = low;
  const auto add = [&](Vector x, Vector y) {
    const auto squared = [&](auto p, auto q, auto sum) {
      const auto apart = hn::Sub(hn::PromoteTo(simd::Doubles(), p),
                                 hn::PromoteTo(simd::Doubles(), q));
      return hn::MulAdd(apart, apart, sum);
    };
    low = squared(hn::LowerHalf(half, x), hn::LowerHalf(half, y), low);
    high = squared(hn::UpperHalf(half, x), hn::UpperHalf(half, y), high);
  };
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    add(simd::load(a + i), simd::load(b + i));
  }
  if (i < count) {
    add(simd::load_part(a + i, count - i, 0.0f),
        simd::load_part(b + i, count - i, 0.0f));
  }
  return simd::sum_lanes(hn::Add(low, high));
}

// products[(i, j)] += x_i y_j of a block of workers, those of `rows` by those
// of `columns`, over `count` entries.
void multiply(const float* const* rows, const float* const* columns,
              std::size_t count, double* products, std::size_t stride) {
  Vector sums[kRows][kColumns];
  for (auto& row : sums) {
    for (Vector& sum : row) sum = simd::broadcast(0);
  }
  const auto add = [&](auto&& load) {
    Vector x[kRows];
    Vector y[kColumns];
    for (std::size_t i = 0; i < kRows; ++i) x[i] = load(rows[i]);
    for (std::size_t j = 0; j < kColumns; ++j) y[j] = load(columns[j]);
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::size_t j = 0; j < kColumns; ++j) {
        sums[i][j] = hn::MulAdd(x[i], y[j], sums[i][j]);
      }
    }
  };
  std::size_t at = 0;
  for (; at + kLanes <= count; at += kLanes) {
    add([&](const float* p) { return simd::load(p + at); });
  }
  if (at < count) {
    add([&](const float* p) {
      return simd::load_part(p + at, count - at, 0.0f);
    });
  }
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < kColumns; ++j) {
      products[i * stride + j] +=
          static_cast<double>(simd::sum_lanes(sums[i][j]));
    }
  }
}

// The squared distances over entries [begin, end), each at its pair's place.
void distances_of_range(std::span<const Contribution> arrived,
                        std::size_t begin, std::size_t end, double* distances) {
  const std::size_t count = arrived.size();
  // What is missing to whole blocks of workers repeats the last one.
  const std::size_t stride = (count + kRows - 1) / kRows * kRows;
  std::vector<double> products(stride * stride, 0.0);
  std::vector<const float*> at(stride);
  for (std::size_t first = begin; first < end; first += kTile) {
    for (std::size_t i = 0; i < stride; ++i) {
      at[i] = arrived[std::min(i, count - 1)].values.data() + first;
    }
    const std::size_t entries = std::min(kTile, end - first);
    for (std::size_t i = 0; i < count; i += kRows) {
      for (std::size_t j = 0; j < i + kRows; j += kColumns) {
        multiply(&at[i], &at[j], entries, &products[i * stride + j], stride);
      }
    }
  }
  for (std::size_t b = 1; b < count; ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      const double lengths =
          products[a * stride + a] + products[b * stride + b];
      const double squared = lengths - 2 * products[b * stride + a];
      distances[pair_index(a, b)] =
          squared > kClose * lengths + kTiny
              ? squared
              : differences(arrived[a].values.data() + begin,
                            arrived[b].values.data() + begin, end - begin);
    }
  }
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {

// Entries whose distances are one term of the sum: whole tiles.
constexpr std::size_t kRange = std::size_t{16} << 10;

// A distance that is no number is that of a worker nobody should be near to.
double counted(double squared) {
  return std::isfinite(squared) ? squared
                                : std::numeric_limits<double>::infinity();
}

}  // namespace

void add_pair_distances(std::span<const Contribution> arrived,
                        std::span<double> distances) {
  const std::size_t pairs = pairs_of(arrived.size());
  WEFT_CHECK(distances.size() >= pairs);
  if (pairs == 0) return;
  const std::size_t entries = arrived[0].values.size();
  const std::size_t ranges = (entries + kRange - 1) / kRange;
  std::vector<double> parts(ranges * pairs);
  const auto run = WEFT_FOR_MACHINE(distances_of_range);
  parallel_for(static_cast<std::int64_t>(ranges), 1,
               [&](std::int64_t first, std::int64_t last) {
                 for (auto i = static_cast<std::size_t>(first);
                      i < static_cast<std::size_t>(last); ++i) {
                   run(arrived, i * kRange, std::min((i + 1) * kRange, entries),
                       &parts[i * pairs]);
                 }
               });
  for (std::size_t i = 0; i < parts.size(); ++i) {
    distances[i % pairs] += counted(parts[i]);
  }
}

double squared_distance(std::span<const float> a, std::span<const float> b,
                        double enough) {
  WEFT_CHECK(a.size() == b.size());
  const auto run = WEFT_FOR_MACHINE(differences);
  double sum = 0;
  for (std::size_t i = 0; i < a.size() && sum <= enough; i += kRange) {
    sum += counted(run(&a[i], &b[i], std::min(kRange, a.size() - i)));
  }
  return sum;
}

}  // namespace weft
#endif
