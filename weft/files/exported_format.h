// The metadata of exported functions, as the file that writes them and the one
// that reads them know it. The format: exported.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/files/safetensors.h"

namespace weft {

// Files of format 1 have no checksum.
inline constexpr int kFunctionFormat = 2;
inline constexpr const char* kChecksumKey = "weft.checksum";

// The keys of a function: "weft.graph" of the main one, "weft.graph.NAME" of
// others.
std::string graph_key(std::string_view name);
std::string function_key(std::string_view name);
// The names of the functions that metadata have, the main one first.
std::vector<std::string> function_names(const TextMetadata& metadata);

// What tells a whole file from a damaged one, 16 hexadecimal digits: all names,
// types and bytes of its tensors and all of its metadata but the checksum
// itself, in whatever order they lie.
class FileChecksum {
 public:
  void add(std::string_view name, const TensorType& type, ByteSpan bytes);
  void add(const TextMetadata& metadata);
  std::string text() const;

 private:
  void add_part(std::string_view kind, std::string_view name, ByteSpan bytes);

  // Parts may come in any order, so they are added up.
  std::uint64_t sum_ = 0;
};

}  // namespace weft
