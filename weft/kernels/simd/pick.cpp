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

// A vector of places, of which `load` makes elements at `y`.
template <class Load>
void pick_by(const std::uint32_t* row, const std::int64_t* indices,
             std::uint32_t* y, std::int64_t count, std::int64_t size,
             Load&& load) {
  const Words words;
  const auto step = static_cast<std::int64_t>(hn::Lanes(words));
  std::int64_t i = 0;
  for (; i + step <= count; i += step) {
    const auto low = places_of(indices + i, size);
    const auto high = places_of(indices + i + step / 2, size);
    load(hn::Combine(words, high, low), y + i);
  }
  for (; i < count; ++i) y[i] = row[row_of(indices[i], size)];
}

void pick_near(const std::uint32_t* row, const std::int64_t* indices,
               std::uint32_t* y, std::int64_t count,
               std::int64_t size) noexcept {
  const Words words;
  pick_by(row, indices, y, count, size,
          [&](auto places, std::uint32_t* to) HWY_ATTR {
            alignas(64) std::uint32_t place[hn::MaxLanes(words)];
            hn::Store(places, words, place);
            for (std::size_t lane = 0; lane < hn::Lanes(words); ++lane) {
              to[lane] = row[place[lane]];
            }
          });
}

void pick_far(const std::uint32_t* row, const std::int64_t* indices,
              std::uint32_t* y, std::int64_t count,
              std::int64_t size) noexcept {
  const Words words;
  const hn::RebindToSigned<Words> offsets;
  pick_by(row, indices, y, count, size,
          [&](auto places, std::uint32_t* to) HWY_ATTR {
            const auto at = hn::BitCast(offsets, places);
            hn::StoreU(hn::GatherIndex(words, row, at), words, to);
          });
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void pick(const std::uint32_t* row, const std::int64_t* indices,
          std::uint32_t* y, std::int64_t count, std::int64_t size,
          bool is_far) noexcept {
  if (is_far) {
    WEFT_FOR_MACHINE(pick_far)(row, indices, y, count, size);
  } else {
    WEFT_FOR_MACHINE(pick_near)(row, indices, y, count, size);
  }
}

}  // namespace weft
#endif
