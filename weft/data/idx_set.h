// Images of one size with one label each, from the pair of IDX files that
// MNIST and its kin are published as.
//
// Threads: pure functions; what is opened is a Dataset.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "weft/data/dataset.h"

namespace weft {

// What distinguishes one IDX set from another.
struct IdxSetOptions {
  std::string name;
  std::vector<std::string> classes = {};  // empty: "0", "1", … as needed
  PixelScale pixel_scale = {};            // empty: to [0, 1]
  // The largest pixel value of the file, which becomes 255.
  int white = 255;
};

// Opens PREFIX-images-idx3-ubyte[.gz] and PREFIX-labels-idx1-ubyte[.gz] in
// `folder` as (image u8[H, W, 1], label i32[]).
// Throws Error(kDataLoss) with file and byte for damaged or unequal files,
// Error(kUnavailable) for missing ones.
DatasetRef open_idx_set(const std::filesystem::path& folder,
                        const std::string& prefix,
                        const IdxSetOptions& options);

// The path of PREFIX-images-idx3-ubyte, packed or plain, or "" if neither is
// there; likewise for labels.
std::filesystem::path find_idx_images(const std::filesystem::path& folder,
                                      const std::string& prefix);
std::filesystem::path find_idx_labels(const std::filesystem::path& folder,
                                      const std::string& prefix);

}  // namespace weft
