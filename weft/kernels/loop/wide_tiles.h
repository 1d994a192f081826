// Tile functions of what f32 does not hold: double, and integers of 32 and 64
// bits. Ask find_tile_op and tile_cast (tile_functions.h), which know these.
//
// Threads: pure functions.
#pragma once

#include <vector>

#include "weft/kernels/loop/tile_functions.h"

namespace weft {

struct WideFunction {
  std::string_view op;
  TileFunction function;
};

// These, as all below, serve any type but kF32.
std::vector<WideFunction> wide_functions(TileType type);
TileFunction wide_cast(TileType type, DType to);
void load_wide(TileType type, DType dtype, const void* source, void* tile,
               std::int64_t size) noexcept;
void store_wide(TileType type, DType dtype, const void* tile, void* target,
                std::int64_t size) noexcept;
void accumulate_wide(TileType type, const void* x, void* sum,
                     std::int64_t size) noexcept;

}  // namespace weft
