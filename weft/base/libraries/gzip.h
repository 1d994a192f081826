// Gzip, for files that are shipped packed.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "weft/base/file.h"

namespace weft {

// No deflate stream grows by more than this factor: whoever claims more lies.
inline constexpr std::size_t kMostDeflateGrowth = 1032;

bool is_gzip(ByteSpan bytes);

// Unpacks all members of a gzip file. `where` names the file in errors.
// Allocates in proportion to what really comes out of the stream.
// Throws Error(kDataLoss) with the offset in the packed bytes, or
// Error(kExhausted) when more than `limit` bytes would come out.
std::vector<std::uint8_t> gunzip(ByteSpan packed, std::string_view where,
                                 std::size_t limit);

// The content of a file that may be gzipped: mapped when plain, unpacked
// when packed. bytes() live as long as the object.
class UnpackedFile {
 public:
  // `limit` bounds the unpacked size; see gunzip.
  UnpackedFile(const std::filesystem::path& path, std::size_t limit);

  ByteSpan bytes() const {
    return is_packed_ ? ByteSpan(unpacked_) : map_.bytes();
  }

 private:
  MappedFile map_;
  std::vector<std::uint8_t> unpacked_;
  bool is_packed_ = false;
};

}  // namespace weft
