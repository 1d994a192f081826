#include "weft/comm/codec/topk_select.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/comm/codec/topk_select.cpp"
#include <algorithm>
#include <array>
#include <bit>
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
using WordVector = hn::Vec<Words>;
using WordMask = hn::Mask<Words>;

// Without their signs, floats are in the order of their bits.
constexpr std::uint32_t kMagnitude = 0x7fffffff;

// Magnitudes as integers, `kLanes` of them. What a part of a vector lacks is
// filled with 0.
WordVector keys_of(simd::Vector values) {
  const Words words;
  return hn::And(hn::BitCast(words, values), hn::Set(words, kMagnitude));
}
std::uint32_t key_of(float value) {
  return std::bit_cast<std::uint32_t>(value) & kMagnitude;
}

// Calls body(keys, index of the first, how many count) for all values.
template <class Body>
void for_each_vector(std::span<const float> values, Body&& body) {
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    body(keys_of(simd::load(&values[i])), static_cast<std::uint32_t>(i),
         kLanes);
  }
  if (const std::size_t rest = values.size() - i; rest > 0) {
    body(keys_of(simd::load_part(&values[i], rest, 0.0f)),
         static_cast<std::uint32_t>(i), rest);
  }
}

// Appends the indices of the keys for which pick(keys) is set. Vectors
// without any, the most, cost one comparison.
template <class Pick>
void append_where(std::span<const float> values, Pick&& pick,
                  std::vector<std::uint32_t>& indices) {
  const Words words;
  constexpr std::size_t kBlock = 2048;
  // Stores are of whole vectors, so there is room for one beyond the block.
  std::array<std::uint32_t, kBlock + kLanes> found;
  std::size_t count = 0;
  for_each_vector(
      values, [&](WordVector keys, std::uint32_t first, std::size_t lanes) {
        WordMask mask = pick(keys);
        if (lanes < kLanes) mask = hn::And(mask, hn::FirstN(words, lanes));
        if (hn::AllFalse(words, mask)) return;
        hn::StoreU(hn::Compress(hn::Iota(words, first), mask), words,
                   found.data() + count);
        count += hn::CountTrue(words, mask);
        if (count >= kBlock) {
          indices.insert(indices.end(), found.begin(), found.begin() + count);
          count = 0;
        }
      });
  indices.insert(indices.end(), found.begin(), found.begin() + count);
}

// A digit of a 31-bit key.
struct Digit {
  int shift;
  int bits;
};
constexpr Digit kDigits[] = {{20, 11}, {10, 10}, {0, 10}};
// The first level of a cache holds both histograms of the widest digit.
using Histogram = std::array<std::uint32_t, 1 << 11>;

// How often each value of the digit occurs among the keys whose higher digits
// are those of `prefix`.
void count_digits(std::span<const float> values, Digit digit,
                  std::uint32_t prefix, Histogram& histogram) {
  const Words words;
  const std::uint32_t mask = (1u << digit.bits) - 1;
  histogram.fill(0);
  if (digit.shift == kDigits[0].shift) {  // no higher digits
    // Neighbours fall into the same bins: two histograms, so that counting
    // one does not wait for the other.
    Histogram second{};
    std::size_t i = 0;
    for (; i + 2 <= values.size(); i += 2) {
      ++histogram[key_of(values[i]) >> digit.shift];
      ++second[key_of(values[i + 1]) >> digit.shift];
    }
    if (i < values.size()) ++histogram[key_of(values[i]) >> digit.shift];
    for (std::size_t bin = 0; bin < second.size(); ++bin) {
      histogram[bin] += second[bin];
    }
    return;
  }
  const std::uint32_t higher = ~((1u << (digit.shift + digit.bits)) - 1);
  const auto wanted = hn::Set(words, prefix & higher);
  std::array<std::uint32_t, kLanes> matches;
  for_each_vector(
      values, [&](WordVector keys, std::uint32_t, std::size_t lanes) {
        WordMask match = hn::Eq(hn::And(keys, hn::Set(words, higher)), wanted);
        if (lanes < kLanes) match = hn::And(match, hn::FirstN(words, lanes));
        if (hn::AllFalse(words, match)) return;
        hn::StoreU(hn::Compress(keys, match), words, matches.data());
        const std::size_t count = hn::CountTrue(words, match);
        for (std::size_t i = 0; i < count; ++i) {
          ++histogram[(matches[i] >> digit.shift) & mask];
        }
      });
}

// The `kept` lowest lanes that `mask` has.
WordMask lowest(WordMask mask, std::uint32_t kept) {
  const Words words;
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(words, mask, bytes);
  std::uint64_t bits;
  std::memcpy(&bits, bytes, sizeof(bits));
  std::uint64_t result = 0;
  for (; kept > 0; --kept, bits &= bits - 1) result |= bits & (~bits + 1);
  std::memcpy(bytes, &result, sizeof(result));
  return hn::LoadMaskBits(words, bytes);
}

void append_largest(std::span<const float> values, std::uint32_t count,
                    std::vector<std::uint32_t>& indices) {
  // The key of the count-th largest, from its highest digit down. `left` is
  // its rank among the keys that share the digits found so far.
  std::uint32_t key = 0;
  std::uint32_t left = count;
  Histogram histogram;
  for (const Digit digit : kDigits) {
    count_digits(values, digit, key, histogram);
    std::uint32_t bin = (1u << digit.bits) - 1;
    // Bins of larger keys are taken whole; the one in which the count runs out
    // holds the key.
    for (; histogram[bin] < left; --bin) left -= histogram[bin];
    key |= bin << digit.shift;
  }
  // All above it, and the first `left` of its equals.
  const Words words;
  const auto cut = hn::Set(words, key);
  indices.reserve(indices.size() + count);
  append_where(
      values,
      [&](WordVector keys) {
        WordMask mask = hn::Gt(keys, cut);
        const WordMask ties = hn::Eq(keys, cut);
        if (left > 0 && !hn::AllFalse(words, ties)) {
          const auto found =
              static_cast<std::uint32_t>(hn::CountTrue(words, ties));
          const std::uint32_t kept = std::min(left, found);
          // Among equals, those of lower index are taken.
          mask = hn::Or(mask, kept == found ? ties : lowest(ties, kept));
          left -= kept;
        }
        return mask;
      },
      indices);
}

void append_from(std::span<const float> values, float threshold,
                 std::vector<std::uint32_t>& indices) {
  const auto cut = hn::Set(Words(), key_of(threshold));
  append_where(
      values, [cut](WordVector keys) { return hn::Not(hn::Lt(keys, cut)); },
      indices);
}

std::uint32_t count_values(std::span<const float> values, float threshold) {
  const Words words;
  const auto cut = hn::Set(words, key_of(threshold));
  std::size_t count = 0;
  for_each_vector(values,
                  [&](WordVector keys, std::uint32_t, std::size_t lanes) {
                    WordMask mask = hn::Not(hn::Lt(keys, cut));
                    if (lanes < kLanes)
                      mask = hn::And(mask, hn::FirstN(words, lanes));
                    count += hn::CountTrue(words, mask);
                  });
  return static_cast<std::uint32_t>(count);
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void select_largest(std::span<const float> values, std::uint32_t count,
                    std::vector<std::uint32_t>& indices) {
  WEFT_CHECK(count <= values.size());
  if (count > 0) WEFT_FOR_MACHINE(append_largest)(values, count, indices);
}

void select_from(std::span<const float> values, float threshold,
                 std::vector<std::uint32_t>& indices) {
  WEFT_FOR_MACHINE(append_from)(values, threshold, indices);
}

std::uint32_t count_from(std::span<const float> values, float threshold) {
  return WEFT_FOR_MACHINE(count_values)(values, threshold);
}

}  // namespace weft
#endif
