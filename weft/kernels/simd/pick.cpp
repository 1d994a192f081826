#include "weft/kernels/simd/pick.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/simd/pick.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weft/kernels/simd/targets.h"
#include "weft/ops/support/indexing.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::ScalableTag<std::uint32_t>;
using Indices = hn::ScalableTag<std::int64_t>;

// row_of() of a vector of indices, half as long as one of words.
auto places_of(const std::int64_t* indices, std::int64_t size) {
  const Indices wide;
  const auto index = hn::LoadU(wide, indices);
  const auto from_end = hn::Add(index, hn::Set(wide, size));
  const auto zero = hn::Zero(wide);
  const auto counted = hn::IfThenElse(hn::Lt(index, zero), from_end, index);
  // What lies outside is clamped, as row_of() does.
  const auto held = hn::Min(hn::Max(counted, zero), hn::Set(wide, size - 1));
  const hn::RebindToUnsigned<Indices> bits;
  const hn::Rebind<std::uint32_t, Indices> halves;
  // Places fit 32 bits, as the caller has checked, so that half of each number
  // is enough.
  return hn::TruncateTo(halves, hn::BitCast(bits, held));
}

// On Zen 4 and its like the processor gathers slower than it loads one by one,
// as long as the row lies in a cache: beyond them gathering is the faster way.
void pick_words(const std::uint32_t* row, const std::int64_t* indices,
                std::uint32_t* y, std::int64_t count,
                std::int64_t size) noexcept {
  const Words words;
  const auto step = static_cast<std::int64_t>(hn::Lanes(words));
  std::int64_t i = 0;
  for (; i + step <= count; i += step) {
    const auto low = places_of(indices + i, size);
    const auto high = places_of(indices + i + step / 2, size);
    alignas(64) std::uint32_t place[hn::MaxLanes(words)];
    hn::Store(hn::Combine(words, high, low), words, place);
    for (std::int64_t lane = 0; lane < step; ++lane) {
      y[i + lane] = row[place[lane]];
    }
  }
  for (; i < count; ++i) y[i] = row[row_of(indices[i], size)];
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void pick(const std::uint32_t* row, const std::int64_t* indices,
          std::uint32_t* y, std::int64_t count, std::int64_t size) noexcept {
  WEFT_FOR_MACHINE(pick_words)(row, indices, y, count, size);
}

}  // namespace weft
#endif
