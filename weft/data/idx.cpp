#include "weft/data/idx.h"

#include <optional>

namespace weft {
namespace {

std::optional<DType> dtype_from_code(std::uint8_t code) {
  switch (code) {
    case 0x08:
      return DType::kU8;
    case 0x09:
      return DType::kI8;
    case 0x0b:
      return DType::kI16;
    case 0x0c:
      return DType::kI32;
    case 0x0d:
      return DType::kF32;
    case 0x0e:
      return DType::kF64;
    default:
      return std::nullopt;
  }
}

// Numbers of the format are big-endian, whatever the machine is.
std::uint32_t big_endian(ByteSpan bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

}  // namespace

IdxArray parse_idx(ByteSpan bytes, std::string_view where) {
  if (bytes.size() < 4) {
    throw Error(ErrorCode::kDataLoss, where,
                "byte {}: an IDX file begins with 4 bytes, this one ends",
                bytes.size());
  }
  if (bytes[0] != 0 || bytes[1] != 0) {
    throw Error(ErrorCode::kDataLoss, where,
                "byte 0: not an IDX file: begins with {:02x} {:02x}, "
                "not 00 00",
                bytes[0], bytes[1]);
  }
  IdxArray result;
  const auto dtype = dtype_from_code(bytes[2]);
  if (!dtype) {
    throw Error(ErrorCode::kDataLoss, where,
                "byte 2: unknown IDX element type {:#04x}", bytes[2]);
  }
  result.dtype = *dtype;
  const std::size_t rank = bytes[3];
  // A scalar is no set of examples.
  if (rank == 0 || rank > Shape::kMaxRank) {
    throw Error(ErrorCode::kDataLoss, where,
                "byte 3: {} dims, where 1 to {} are supported", rank,
                Shape::kMaxRank);
  }
  const std::size_t header = 4 + 4 * rank;
  if (bytes.size() < header) {
    throw Error(ErrorCode::kDataLoss, where,
                "byte {}: the file ends inside its header of {} bytes",
                bytes.size(), header);
  }

  // `need` never exceeds the file's size, so it cannot overflow.
  result.data = bytes.subspan(header);
  std::size_t need = size_of(*dtype);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::uint32_t dim = big_endian(bytes.subspan(4 + 4 * axis, 4));
    result.shape.push_back(dim);
    // A division, as the product of damaged dims may pass any integer.
    if (dim != 0 && need > result.data.size() / dim) {
      throw Error(ErrorCode::kDataLoss, where,
                  "byte {}: dim {} of {} needs more data than the {} bytes "
                  "behind the header",
                  4 + 4 * axis, axis, dim, result.data.size());
    }
    need *= dim;
  }
  // Left-over bytes mean that the header is not that of this data.
  if (need != result.data.size()) {
    throw Error(ErrorCode::kDataLoss, where,
                "byte {}: {} bytes follow the data of {}", header + need,
                result.data.size() - need,
                to_string(TensorType{result.dtype, result.shape}));
  }
  return result;
}

}  // namespace weft
