// Elementwise ops on a tile: a short run of f32 values that stays in the L1
// cache. A fused loop is a list of these.
//
// A new elementwise op becomes fusable, fast and available in eager mode by
// one row in the table of tile_functions.cpp.
//
// Threads: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "weft/graph/attributes.h"

namespace weft {

struct Tile {
  std::array<const float*, 3> x;  // operands
  float* y;                       // result; may be one of the operands
  std::int64_t size;
  std::array<float, 2> parameters;
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
  kClamp,
  kCopy,
  kToBool,
  kToBf16,
  kToF16,
};

struct TileOp {
  std::string_view op;
  int arity;
  TileFunction function;
  Opcode code;
  // Relative to an addition: decides whether computing a value again is
  // cheaper than keeping it.
  int weight;
  // Reads the attributes that the function needs; may be null.
  std::array<float, 2> (*parameters)(const Attributes&) = nullptr;
};

// True if the op returns one of its operands, perhaps negated: what it returns
// needs no rounding where the operands need none.
bool selects(Opcode code);

// The tile form of an op, or null. For `cast`, which depends on the target,
// ask tile_cast.
const TileOp* find_tile_op(std::string_view op);
std::span<const TileOp> all_tile_ops();

// Values of one dtype as those of another, as the op `cast` says, left in f32.
// From a dtype to itself it rounds what an op of that dtype has computed in
// f32; integers keep their low bits.
TileOp tile_cast(DType from, DType to);

// True if every value of the dtype is exact in f32, so that loops can carry
// it: f32 bf16 f16 bool i8 u8 i16.
bool fits_tile(DType dtype);
// True if f32 holds what the op makes of values of the dtype before it is
// rounded to it: not products of i16, no powers of integers, and not the
// opposite of a bool, of which an integer has more bits than one.
bool is_exact_in_tile(std::string_view op, DType dtype);

// Converts between memory and a tile, whose numbers are of the dtype already.
void load_tile(DType dtype, const void* source, float* tile,
               std::int64_t size) noexcept;
void store_tile(DType dtype, const float* tile, void* target,
                std::int64_t size) noexcept;
// sum[i] += x[i].
void accumulate_tile(const float* x, float* sum, std::int64_t size) noexcept;

}  // namespace weft
