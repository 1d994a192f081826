// The IDX format of MNIST: a magic number, big-endian dims, raw elements.
//
//   byte 0-1  zero
//   byte 2    element type: 08 u8, 09 i8, 0B i16, 0C i32, 0D f32, 0E f64
//   byte 3    number of dims
//   byte 4…   one big-endian u32 per dim, then the elements, row-major
//
// Threads: pure functions.
#pragma once

#include <string_view>

#include "weft/base/file.h"
#include "weft/tensor/tensor.h"

namespace weft {

// A parsed file. `data` points into the parsed bytes: big-endian elements.
struct IdxArray {
  DType dtype = DType::kU8;
  Shape shape;
  ByteSpan data;
};

// Throws Error(kDataLoss) naming `where` and the byte, unless `bytes` is one
// whole IDX array with nothing behind it. Allocates nothing.
IdxArray parse_idx(ByteSpan bytes, std::string_view where);

}  // namespace weft
