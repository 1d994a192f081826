#include "weft/kernels/loop/tile_columns.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/loop/tile_columns.cpp"
#include <hwy/foreach_target.h>

#include "weft/kernels/loop/tile_places.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

// Numbers of a line of the cache.
constexpr std::int64_t kLine = 16;

// Rows of at least kMost columns. The last vector of a row overlaps the one
// before: columns are few in dense networks, and a call for each row, or a
// store under a mask, takes longer than the row.
template <std::size_t kMost>
void copy_rows(const float* from, float* to, const TileColumns& c) noexcept {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::CappedTag<float, kMost> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t last = c.width - lanes;
  // The next tile has as many rows behind these. Each tile takes so little of a
  // value that the processor's own prefetcher has hardly begun; an address
  // behind the value does no harm.
  const std::int64_t ahead = c.rows * c.from_stride;
  for (std::int64_t row = 0; row < c.rows; ++row) {
    for (std::int64_t i = 0; i < c.width; i += kLine) {
      __builtin_prefetch(from + ahead + i);
    }
    for (std::int64_t i = 0; i < last; i += lanes) {
      hn::StoreU(hn::LoadU(d, from + i), d, to + i);
    }
    hn::StoreU(hn::LoadU(d, from + last), d, to + last);
    from += c.from_stride;
    to += c.to_stride;
  }
}

void copy_columns(const float* from, float* to, const TileColumns& c) noexcept {
  const auto copy = c.width >= 16  ? copy_rows<16>
                    : c.width >= 8 ? copy_rows<8>
                    : c.width >= 4 ? copy_rows<4>
                                   : copy_rows<1>;
  copy(from, to, c);
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void load_columns(DType dtype, const void* source, void* tile,
                  const TileColumns& columns, TileType type) noexcept {
  if (columns.width == 0) return;
  if (type == TileType::kF32 && dtype == DType::kF32) {
    return WEFT_FOR_MACHINE(copy_columns)(static_cast<const float*>(source),
                                          static_cast<float*>(tile), columns);
  }
  const auto* from = static_cast<const std::byte*>(source);
  auto* to = static_cast<std::byte*>(tile);
  const auto from_stride =
      columns.from_stride * static_cast<std::int64_t>(size_of(dtype));
  const auto to_stride =
      columns.to_stride * static_cast<std::int64_t>(size_of(dtype_of(type)));
  for (std::int64_t row = 0; row < columns.rows; ++row) {
    load_tile(dtype, from + row * from_stride, to + row * to_stride,
              columns.width, type);
  }
}

}  // namespace weft
#endif
