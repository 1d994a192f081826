// Named tensors in a file: the safetensors format.
//
//   8 bytes   N, little-endian: the length of the header
//   N bytes   JSON: {"name": {"dtype": "F32", "shape": […],
//             "data_offsets": [begin, end]}, …, "__metadata__": {…}}
//   the rest  the tensors' bytes, little-endian, row-major, without gaps
//
// Threads: a SafetensorsFile is immutable once open; share freely.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/file.h"
#include "weft/tensor/tensor.h"

namespace weft {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// Texts that travel in the header.
using TextMetadata = std::map<std::string, std::string>;

// A tensor in a file; `begin` counts from the end of the header.
struct SafetensorsEntry {
  std::string name;
  TensorType type;
  std::size_t begin = 0;
};

// The checked header of a file.
struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of their bytes
  TextMetadata metadata;
  std::size_t data_begin = 0;  // in the file

  // null if there is none.
  const SafetensorsEntry* find(std::string_view name) const;
};

// Checks everything that can be checked of a whole file's bytes: lengths,
// JSON, dtypes, shapes, offsets, gaps and overlaps, names that occur twice.
// Throws Error(kDataLoss) naming `where` and the byte; Error(kUnsupported)
// for a dtype or a number of dims that Weft has not. Allocates in proportion
// to the header only.
SafetensorsHeader parse_safetensors(ByteSpan file, std::string_view where);

class SafetensorsFile {
 public:
  // Maps the file; nothing is read but the header. Throws as MappedFile and
  // parse_safetensors() do.
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  const std::vector<SafetensorsEntry>& entries() const {
    return header_.entries;
  }
  const TextMetadata& metadata() const { return header_.metadata; }
  const SafetensorsEntry* find(std::string_view name) const {
    return header_.find(name);
  }

  // A copy of a tensor's bytes. Throws Error(kDataLoss) for a bool that is
  // neither 0 nor 1.
  Tensor read(const SafetensorsEntry& entry) const;
  // The bytes where they are mapped, which nobody may write: they stay as long
  // as the tensor does. A copy where they are not aligned to their dtype, as in
  // files that others wrote. Throws as read().
  Tensor map(const SafetensorsEntry& entry) const;
  // Throws Error(kInvalidArgument) with the nearest name if there is none.
  Tensor read(std::string_view name) const;

 private:
  ByteSpan bytes_of(const SafetensorsEntry& entry) const;

  std::filesystem::path path_;
  // Tensors that lie in it keep it.
  std::shared_ptr<const MappedFile> map_;
  SafetensorsHeader header_;
};

// Writes the tensors atomically: widest dtypes first, so that every tensor is
// aligned. Names are UTF-8 and must differ, and none may be "__metadata__".
// Throws Error(kInvalidArgument) for others, and as AtomicFile does.
void write_safetensors(const std::filesystem::path& path,
                       std::span<const NamedTensor> tensors,
                       const TextMetadata& metadata = {});

}  // namespace weft
