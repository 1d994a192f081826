// Where oneDNN's products of small integers are exact.
//
// Threads: safe from any.
#pragma once

#include <optional>
#include <string>

namespace weft::onednn {

// Why products of i8 are not left to oneDNN, or nothing if they are. Without
// VNNI it adds pairs of products in 16 bits, which saturate: 255 · 127 + 255 ·
// 127 becomes 32767.
std::optional<std::string> integers_declined();

}  // namespace weft::onednn
