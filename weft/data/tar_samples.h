// Samples in shards: archives in which the files of one sample stand one behind
// the other and share their name up to the first dot of its last part, as
// WebDataset writes them: 0001.jpg, 0001.cls, 0002.jpg, ….
//
// Threads: pure functions.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weft/data/tar.h"

namespace weft {

struct TarSample {
  std::string name;  // "train/0001", as messages call it
  // A part is known by what follows the first dot, in lower case: "jpg",
  // "seg.png".
  struct Part {
    std::string kind;
    ByteSpan bytes;
  };
  std::vector<Part> parts;

  // The part of this kind; null if there is none.
  const Part* find(std::string_view kind) const;
};

// Throws as read_tar(), and Error(kDataLoss) for a sample that has two parts of
// one kind and for a file without a dot.
std::vector<TarSample> read_samples(ByteSpan archive, std::string_view where);

// The files of a folder that a pattern names: '*' stands for anything,
// {000..012} for each of these numbers, which must all be there. Sorted; throws
// Error(kUnavailable) naming a file that is not there, Error(kInvalidArgument)
// for a range of none or of more than a million.
std::vector<std::filesystem::path> shards_of(
    const std::filesystem::path& folder, std::string_view pattern);

}  // namespace weft
