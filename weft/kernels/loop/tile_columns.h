// Columns of some rows of a value, as the rows of a tile have them.
//
// Threads: pure functions.
#pragma once

#include "weft/kernels/loop/tile_functions.h"

namespace weft {

// Sizes in elements.
struct TileColumns {
  std::int64_t rows;
  std::int64_t width;        // columns
  std::int64_t from_stride;  // from one row of the value to the next
  std::int64_t to_stride;    // the same of the tile
};

// Puts them where `tile` points to, as load_tile() does: whatever they are in
// memory, numbers of `type` there.
void load_columns(DType dtype, const void* source, void* tile,
                  const TileColumns& columns, TileType type) noexcept;

}  // namespace weft
