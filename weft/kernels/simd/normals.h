// Many normal numbers at once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

// out[2 i] and out[2 i + 1] = normal_from(words[2 i], words[2 i + 1]), in the
// same bits on every machine. `count`, the number of words, is a multiple of
// 16.
void normals(const std::uint32_t* words, float* out, std::size_t count);

}  // namespace weft
