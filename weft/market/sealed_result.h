// What a job made, for its payer alone, and states for the machine that may see
// them: encrypted to an account or a machine (X25519 of its Ed25519 key, in
// libsodium's sealed box).
//
// Threads: pure functions but for the files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "weft/market/keys.h"

namespace weft::market {

void write_result(const std::filesystem::path& path, const PublicKey& reader,
                  std::string_view plain);
// Throws Error(kDataLoss) for one that is not for this key.
std::string read_result(const std::filesystem::path& path,
                        const SigningKey& reader);

// All of a file, whatever its size.
std::string file_bytes(const std::filesystem::path& path);

}  // namespace weft::market
