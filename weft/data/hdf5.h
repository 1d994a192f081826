// Datasets of numbers in an HDF5 file, read by rows of their first axis.
//
// libhdf5 reads them, 1.10 or newer, which is loaded when it is first asked for
// (Debian: libhdf5-103-1). WEFT_HDF5 names another file.
//
// Threads: safe; the library reads for one at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "weft/tensor/tensor.h"

namespace weft {

class Hdf5File {
 public:
  // Throws Error(kUnavailable) without libhdf5, or for a file that cannot be
  // opened, Error(kDataLoss) for one that is no HDF5 file.
  explicit Hdf5File(std::filesystem::path path);
  ~Hdf5File();
  Hdf5File(const Hdf5File&) = delete;
  Hdf5File& operator=(const Hdf5File&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // All datasets are named, sorted; those within groups as "group/name".
  const std::vector<std::string>& names() const { return names_; }

  // Opens a dataset, if it is not open yet, and says what its values become:
  // floating numbers f32, also those of 16 and of 64 bits; integers of 16 and
  // 32 bits without a sign the next larger ones that have one; others what they
  // are. So many rows of chunks are kept, unpacked. Throws Error(kUnsupported)
  // naming the dataset and its type for others, and for one without an axis.
  TensorType open(const std::string& name, std::int64_t kept_chunks = 1);
  // How many rows lie in one chunk, and are read together; 1 where none are.
  std::int64_t chunk_rows(const std::string& name) const;

  // Rows [begin, end) of an open dataset into `to`. Throws Error(kDataLoss).
  void read(const std::string& name, std::int64_t begin, std::int64_t end,
            void* to) const;

 private:
  struct Set {
    std::int64_t id = -1;
    std::int64_t memory_type = -1;
    TensorType type;
    std::int64_t chunk_rows = 1;
  };
  void list(const std::string& group, int depth);
  Set open_set(const std::string& name, std::int64_t kept_chunks) const;

  std::filesystem::path path_;
  std::int64_t file_ = -1;
  std::vector<std::string> names_;
  std::map<std::string, Set> sets_;
};

}  // namespace weft
