#include "weft/comm/codec/magnitude.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/comm/codec/magnitude.cpp"
#include <bit>
#include <cstdint>
#include <hwy/foreach_target.h>

#include "weft/base/error.h"
#include "weft/kernels/simd/lanes.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = simd::hn;
using simd::kLanes;
using Words = hn::Rebind<std::uint32_t, simd::Floats>;

constexpr std::uint32_t kMagnitude = 0x7fffffff;

// Without their signs, floats are ordered as their bits are, with infinity
// and NaN above all numbers: one integer maximum finds both the largest
// magnitude and what is no number. `load(i)` gives the vector of elements
// i, i + 1, …; `load_one(i)` a single element.
template <class Load, class LoadOne>
float largest(std::size_t count, Load&& load, LoadOne&& load_one) {
  const Words words;
  const auto mask = hn::Set(words, kMagnitude);
  const auto magnitude = [&](std::size_t i) {
    return hn::And(hn::BitCast(words, load(i)), mask);
  };
  // Two maxima, so that one need not wait for the other.
  auto a = hn::Zero(words);
  auto b = a;
  std::size_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    a = hn::Max(a, magnitude(i));
    b = hn::Max(b, magnitude(i + kLanes));
  }
  std::uint32_t most = hn::GetLane(hn::MaxOfLanes(words, hn::Max(a, b)));
  for (; i < count; ++i) {
    // The rest is compared as integers too, so that NaN counts here as above.
    most =
        std::max(most, std::bit_cast<std::uint32_t>(load_one(i)) & kMagnitude);
  }
  return std::bit_cast<float>(most);
}

float largest_of_values(std::span<const float> values) {
  return largest(
      values.size(), [&](std::size_t i) { return simd::load(&values[i]); },
      [&](std::size_t i) { return values[i]; });
}

// The sums are not kept: codecs that add again in their own pass save writing
// them here.
float largest_of_sums(std::span<const float> a, std::span<const float> b) {
  return largest(
      a.size(),
      [&](std::size_t i) {
        return hn::Add(simd::load(&a[i]), simd::load(&b[i]));
      },
      [&](std::size_t i) { return a[i] + b[i]; });
}

void add_values(std::span<const float> values, std::span<float> sum) {
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    simd::store(hn::Add(simd::load(&values[i]), simd::load(&sum[i])), &sum[i]);
  }
  for (; i < values.size(); ++i) sum[i] += values[i];
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

float largest_magnitude(std::span<const float> values) {
  return WEFT_FOR_MACHINE(largest_of_values)(values);
}

float largest_magnitude(std::span<const float> a, std::span<const float> b) {
  WEFT_CHECK(a.size() == b.size());
  return WEFT_FOR_MACHINE(largest_of_sums)(a, b);
}

void accumulate(std::span<const float> values, std::span<float> sum) {
  WEFT_CHECK(values.size() == sum.size());
  WEFT_FOR_MACHINE(add_values)(values, sum);
}

}  // namespace weft
#endif
