// Elementwise ops on a tile: a short run of numbers of one type that stays in
// the L1 cache. A fused loop is a list of these.
//
// A new elementwise op becomes fusable, fast and available in eager mode by
// one row in the table of tile_functions.cpp; of what f32 does not hold, by one
// in wide_tiles.cpp.
//
// Threads: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "weft/graph/attributes.h"

namespace weft {

// What the numbers of a tile are. f32 stands for all that it holds exactly, so
// most loops are of it.
enum class TileType { kF32, kI32, kI64, kF64 };

constexpr DType dtype_of(TileType type) {
  switch (type) {
    case TileType::kI32:
      return DType::kI32;
    case TileType::kI64:
      return DType::kI64;
    case TileType::kF64:
      return DType::kF64;
    case TileType::kF32:
      break;
  }
  return DType::kF32;
}

// True if every value of the dtype is a number of the type.
bool holds(TileType type, DType dtype);
// The first type that holds all of these dtypes; nothing where none does, as
// for i64 beside f64.
std::optional<TileType> tile_type(std::span<const TensorType> inputs,
                                  std::span<const TensorType> outputs);
// What a loop computes the op in: the same, but that a cast of i32 to f32 is of
// f32. What it reads comes from memory, as no loop of f32 computes an i32, and
// is rounded as it is loaded.
std::optional<TileType> loop_type(std::string_view op,
                                  std::span<const TensorType> inputs,
                                  std::span<const TensorType> outputs);

struct Tile {
  std::array<const void*, 3> x;  // operands
  void* y;                       // result; may be one of the operands
  std::int64_t size;
  std::array<double, 2> parameters;
};

using TileFunction = void (*)(const Tile&) noexcept;

// What a code generator may emit in place of the function (loop_code.h).
// kCall: nothing, the function has to be called.
enum class Opcode {
  kCall,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kMaximum,
  kMinimum,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kAnd,
  kOr,
  kXor,
  kNot,
  kWhere,
  kNegate,
  kSqrt,
  kRsqrt,
  kSquare,
  kRelu,
  kAbs,
  kFloor,
  kCeil,
  kRound,
  kSign,
  kIsNan,
  kIsFinite,
  kClamp,
  kCopy,
  kToBool,
  kToBf16,
  kToF16,
  kToI8,  // of a float: truncates and saturates, NaN gives 0
  kToU8,
};

struct TileOp {
  std::string_view op;
  int arity;
  TileFunction function;
  Opcode code;
  // Reads the attributes that the function needs; may be null.
  std::array<double, 2> (*parameters)(const Attributes&) = nullptr;
};

// True if the op returns one of its operands, perhaps negated: what it returns
// needs no rounding where the operands need none.
bool selects(Opcode code);

// The tile form of an op, or null. For `cast`, which depends on the target,
// ask tile_cast.
const TileOp* find_tile_op(std::string_view op, TileType type = TileType::kF32);
std::span<const TileOp> all_tile_ops();

// Values of one dtype as those of another, as the op `cast` says, left in the
// tile. From a dtype to itself it rounds what an op of that dtype has computed
// in f32; integers keep their low bits.
TileOp tile_cast(DType from, DType to, TileType type = TileType::kF32);

// True if f32 holds what the op makes of values of the dtype before it is
// rounded to it: not products of i16, no powers of integers, and not the
// opposite of a bool, of which an integer has more bits than one.
bool is_exact_in_tile(std::string_view op, DType dtype);

// Converts between memory and a tile. Floats are rounded to nearest even as
// they are stored, integers are of the dtype already. An i32 that is loaded
// into a tile of f32 is rounded.
void load_tile(DType dtype, const void* source, void* tile, std::int64_t size,
               TileType type = TileType::kF32) noexcept;
void store_tile(DType dtype, const void* tile, void* target, std::int64_t size,
                TileType type = TileType::kF32) noexcept;
// sum[i] += x[i].
void accumulate_tile(const void* x, void* sum, std::int64_t size,
                     TileType type = TileType::kF32) noexcept;

}  // namespace weft
