// SHA-256 checksums, by libsodium.
#pragma once

#include <filesystem>
#include <string>

#include "weft/base/file.h"

namespace weft {

// 64 lower-case hexadecimal digits.
std::string sha256(ByteSpan bytes);
// Throws as MappedFile does.
std::string sha256_of_file(const std::filesystem::path& path);

}  // namespace weft
