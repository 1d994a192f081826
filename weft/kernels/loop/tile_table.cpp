// Which tile computes an op, and which function of the tile.
#include <algorithm>
#include <vector>

#include "weft/kernels/loop/tile_functions.h"
#include "weft/kernels/loop/wide_tiles.h"

namespace weft {

bool holds(TileType type, DType dtype) {
  const bool is_wide =
      dtype == DType::kF64 || dtype == DType::kI64 || dtype == DType::kI32;
  switch (type) {
    case TileType::kI32:
      return dtype == DType::kI32 || (!is_wide && !is_floating(dtype));
    case TileType::kI64:
      return !is_floating(dtype);
    case TileType::kF64:
      return dtype != DType::kI64;
    case TileType::kF32:
      break;
  }
  return !is_wide;
}

std::optional<TileType> tile_type(std::span<const TensorType> inputs,
                                  std::span<const TensorType> outputs) {
  // The narrowest type that holds all operands comes first: it has the most
  // lanes.
  for (const TileType type :
       {TileType::kF32, TileType::kI32, TileType::kI64, TileType::kF64}) {
    const auto is_held = [&](const TensorType& each) {
      return holds(type, each.dtype);
    };
    if (std::ranges::all_of(inputs, is_held) &&
        std::ranges::all_of(outputs, is_held)) {
      return type;
    }
  }
  return std::nullopt;
}

std::optional<TileType> loop_type(std::string_view op,
                                  std::span<const TensorType> inputs,
                                  std::span<const TensorType> outputs) {
  // This cast alone may lose digits on the way into f32, as that is what it
  // does.
  if (op == "cast" && inputs[0].dtype == DType::kI32 &&
      outputs[0].dtype == DType::kF32) {
    return TileType::kF32;
  }
  return tile_type(inputs, outputs);
}

namespace {

const TileOp* find_in(std::span<const TileOp> ops, std::string_view op) {
  const auto found = std::ranges::find(ops, op, &TileOp::op);
  return found == ops.end() ? nullptr : &*found;
}

// The rows for f32, with the functions of another type.
std::vector<TileOp> wide_table(TileType type) {
  std::vector<TileOp> table;
  for (const WideFunction& each : wide_functions(type)) {
    // Arity and parameters are those of f32.
    table.push_back(*find_in(all_tile_ops(), each.op));
    table.back().function = each.function;
    // Generated code is of f32 only.
    table.back().code = Opcode::kCall;
  }
  return table;
}

}  // namespace

const TileOp* find_tile_op(std::string_view op, TileType type) {
  static const auto i32 = wide_table(TileType::kI32);
  static const auto i64 = wide_table(TileType::kI64);
  static const auto f64 = wide_table(TileType::kF64);
  switch (type) {
    case TileType::kI32:
      return find_in(i32, op);
    case TileType::kI64:
      return find_in(i64, op);
    case TileType::kF64:
      return find_in(f64, op);
    case TileType::kF32:
      break;
  }
  return find_in(all_tile_ops(), op);
}

bool selects(Opcode code) {
  switch (code) {
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kWhere:
    case Opcode::kNegate:
    case Opcode::kRelu:
    case Opcode::kAbs:
      return true;
    default:
      return false;
  }
}

bool is_exact_in_tile(std::string_view op, DType dtype) {
  // A power of small integers may pass any number of bits.
  if (op == "power") return !is_integer(dtype);
  // A product of two i16 takes up to 31 bits, and f32 holds 24.
  if (op == "multiply" || op == "square") return dtype != DType::kI16;
  if (op == "bitwise_not") return dtype != DType::kBool;
  return true;
}

}  // namespace weft
