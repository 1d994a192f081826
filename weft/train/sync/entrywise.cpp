#include "weft/train/sync/entrywise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/train/sync/entrywise.cpp"
#include <algorithm>
#include <array>
#include <cmath>
#include <hwy/foreach_target.h>
#include <limits>

#include "weft/base/parallel.h"
#include "weft/kernels/simd/doubles.h"
#include "weft/kernels/simd/targets.h"
#include "weft/train/sync/sorting_network.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = simd::hn;
using simd::kLanes;
using simd::Vector;

// Entries that are sorted side by side: the tile of some tens of workers stays
// in the first cache, and comparisons of several vectors hide their latency.
constexpr std::size_t kTile = 64;
static_assert(kTile % kLanes == 0);

Vector infinity() {
  return simd::broadcast(std::numeric_limits<float>::infinity());
}
auto is_finite(Vector x) { return hn::Lt(hn::Abs(x), infinity()); }

// A sum of vectors of f32 in double.
struct WideSum {
  simd::DoubleVector low = simd::broadcast_double(0);
  simd::DoubleVector high = simd::broadcast_double(0);

  void add(Vector x) {
    const hn::Half<simd::Floats> half;
    low = hn::Add(low, hn::PromoteTo(simd::Doubles(), hn::LowerHalf(half, x)));
    high =
        hn::Add(high, hn::PromoteTo(simd::Doubles(), hn::UpperHalf(half, x)));
  }
  Vector times(double factor) const {
    const hn::Half<simd::Floats> half;
    const auto scale = simd::broadcast_double(factor);
    return hn::Combine(simd::Floats(), hn::DemoteTo(half, hn::Mul(high, scale)),
                       hn::DemoteTo(half, hn::Mul(low, scale)));
  }
};

Vector times_of(Vector x, double factor) {
  WideSum wide;
  wide.add(x);
  return wide.times(factor);
}

// Values of all workers, a row of kTile for each.
class Tile {
 public:
  explicit Tile(std::size_t rows) : values_(rows * kTile) {}

  std::size_t rows() const { return values_.size() / kTile; }
  Vector at(std::size_t row, std::size_t place) const {
    return simd::load(&values_[row * kTile + place]);
  }

  // Entries [begin, begin + count) of each, ready to be sorted; what is missing
  // to a whole tile is whatever was there.
  void fill(std::span<const Contribution> arrived, std::size_t begin,
            std::size_t count) {
    for (std::size_t row = 0; row < arrived.size(); ++row) {
      const float* from = arrived[row].values.data() + begin;
      simd::map(from, &values_[row * kTile], count, [](Vector x) {
        return hn::IfThenElse(is_finite(x), x, infinity());
      });
    }
  }

  void sort(const SortingNetwork& network) {
    for (const auto& [low, high] : network.comparisons()) {
      float* a = &values_[low * kTile];
      float* b = &values_[high * kTile];
      for (std::size_t i = 0; i < kTile; i += kLanes) {
        const Vector x = simd::load(a + i);
        const Vector y = simd::load(b + i);
        simd::store(hn::Min(x, y), a + i);
        simd::store(hn::Max(x, y), b + i);
      }
    }
  }

 private:
  std::vector<float> values_;
};

Vector middle_of(const Tile& tile, Middle middle, std::size_t place,
                 double times) {
  WideSum sum;
  for (std::size_t row = middle.first; row < middle.last; ++row) {
    sum.add(tile.at(row, place));
  }
  return sum.times(times / static_cast<double>(middle.last - middle.first));
}

// Those that are closest stand side by side in sorted order: the first of them
// at the first place s whose value is no farther below the center than the one
// at s + kept is above it.
Vector closest_of(const Tile& tile, Middle middle, std::size_t kept,
                  std::size_t place, double times) {
  const Vector center = middle_of(tile, middle, place, 1);
  const std::size_t moves = tile.rows() - kept;
  // Whether they begin behind place s; that holds for all s below the first.
  const auto begins_behind = [&](std::size_t s) {
    return hn::Lt(hn::Sub(tile.at(s + kept, place), center),
                  hn::Sub(center, tile.at(s, place)));
  };
  WideSum sum;
  for (std::size_t row = 0; row < tile.rows(); ++row) {
    Vector value = tile.at(row, place);
    if (row < moves) {
      value = hn::IfThenZeroElse(begins_behind(row), value);
    }
    if (row >= kept) {
      value = hn::IfThenElseZero(begins_behind(row - kept), value);
    }
    sum.add(value);
  }
  return sum.times(times / static_cast<double>(kept));
}

// result[i] = function(tile, place) for the entries of sorted tiles.
template <class Function>
void for_sorted(std::span<const Contribution> arrived,
                const SortingNetwork& network, std::size_t begin,
                std::size_t end, float* result, Function&& function) {
  Tile tile(arrived.size());
  for (std::size_t first = begin; first < end; first += kTile) {
    const std::size_t count = std::min(kTile, end - first);
    tile.fill(arrived, first, count);
    tile.sort(network);
    for (std::size_t i = 0; i < count; i += kLanes) {
      const Vector value = function(tile, i);
      if (i + kLanes <= count) {
        simd::store(value, result + first + i);
      } else {
        simd::store_part<float>(value, result + first + i, count - i);
      }
    }
  }
}

void middle_range(std::span<const Contribution> arrived,
                  const SortingNetwork& network, Middle middle, double times,
                  std::size_t begin, std::size_t end, float* result) {
  for_sorted(arrived, network, begin, end, result,
             [&](const Tile& tile, std::size_t place) {
               return middle_of(tile, middle, place, times);
             });
}

void closest_range(std::span<const Contribution> arrived,
                   const SortingNetwork& network, Middle middle,
                   std::size_t kept, double times, std::size_t begin,
                   std::size_t end, float* result) {
  for_sorted(arrived, network, begin, end, result,
             [&](const Tile& tile, std::size_t place) {
               return closest_of(tile, middle, kept, place, times);
             });
}

void finite_range(std::span<const Contribution> arrived, double times,
                  std::size_t begin, std::size_t end, float* result) {
  for (std::size_t i = begin; i < end; i += kLanes) {
    const std::size_t count = std::min(kLanes, end - i);
    WideSum sum;
    Vector finite = simd::broadcast(0);
    for (const Contribution& each : arrived) {
      const float* from = each.values.data() + i;
      const Vector value = count == kLanes ? simd::load(from)
                                           : simd::load_part(from, count, 0.0f);
      sum.add(hn::IfThenElseZero(is_finite(value), value));
      finite = hn::Add(
          finite, hn::IfThenElseZero(is_finite(value), simd::broadcast(1)));
    }
    // Where none is finite, the sum is 0 over 1.
    const Vector divisor = hn::Max(finite, simd::broadcast(1));
    simd::store_part<float>(hn::Div(sum.times(times), divisor), result + i,
                            count);
  }
}

// Sums of f32, several vectors side by side.
void sum_range(std::span<const Contribution> arrived, double times,
               std::size_t begin, std::size_t end, float* result) {
  constexpr std::size_t kVectors = 4;
  std::size_t i = begin;
  for (; i + kVectors * kLanes <= end; i += kVectors * kLanes) {
    std::array<Vector, kVectors> sums;
    sums.fill(simd::broadcast(0));
    for (const Contribution& each : arrived) {
      const float* from = each.values.data() + i;
      for (std::size_t v = 0; v < kVectors; ++v) {
        sums[v] = hn::Add(sums[v], simd::load(from + v * kLanes));
      }
    }
    for (std::size_t v = 0; v < kVectors; ++v) {
      // Without a factor it is the sum that the mean would be, to the bit.
      simd::store(times == 1 ? sums[v] : times_of(sums[v], times),
                  result + i + v * kLanes);
    }
  }
  for (; i < end; i += kLanes) {
    const std::size_t count = std::min(kLanes, end - i);
    Vector sum = simd::broadcast(0);
    for (const Contribution& each : arrived) {
      sum = hn::Add(sum, simd::load_part(each.values.data() + i, count, 0.0f));
    }
    simd::store_part<float>(times == 1 ? sum : times_of(sum, times), result + i,
                            count);
  }
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {

// So many entries are worth a thread.
constexpr std::int64_t kGrain = 4096;

template <class Body>
void for_entries(std::span<const float> result, Body&& body) {
  parallel_for(static_cast<std::int64_t>(result.size()), kGrain,
               [&](std::int64_t begin, std::int64_t end) {
                 body(static_cast<std::size_t>(begin),
                      static_cast<std::size_t>(end));
               });
}

}  // namespace

void mean_of_middle(std::span<const Contribution> arrived, Middle middle,
                    double times, std::span<float> result) {
  WEFT_CHECK(middle.first < middle.last && middle.last <= arrived.size());
  const SortingNetwork network(arrived.size(), middle.first, middle.last);
  const auto run = WEFT_FOR_MACHINE(middle_range);
  for_entries(result, [&](std::size_t begin, std::size_t end) {
    run(arrived, network, middle, times, begin, end, result.data());
  });
}

void mean_of_closest(std::span<const Contribution> arrived, Middle middle,
                     std::size_t kept, double times, std::span<float> result) {
  WEFT_CHECK(middle.first < middle.last && middle.last <= arrived.size());
  WEFT_CHECK(kept > 0 && kept <= arrived.size());
  const SortingNetwork network(arrived.size(), 0, arrived.size());
  const auto run = WEFT_FOR_MACHINE(closest_range);
  for_entries(result, [&](std::size_t begin, std::size_t end) {
    run(arrived, network, middle, kept, times, begin, end, result.data());
  });
}

void sum_of(std::span<const Contribution> chosen, double times,
            std::span<float> result) {
  const auto run = WEFT_FOR_MACHINE(sum_range);
  for_entries(result, [&](std::size_t begin, std::size_t end) {
    run(chosen, times, begin, end, result.data());
  });
}

void mean_of_finite(std::span<const Contribution> arrived, double times,
                    std::span<float> result) {
  const auto run = WEFT_FOR_MACHINE(finite_range);
  for_entries(result, [&](std::size_t begin, std::size_t end) {
    run(arrived, times, begin, end, result.data());
  });
}

}  // namespace weft
#endif
