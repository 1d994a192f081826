// Changes of training images at random, so that a model sees no image twice:
//
//   const Augmentations changes({"crop(padding=4)", "flip"});
//   changes.apply({.seed = 1, .epoch = 3, .index = 17}, image);
//
// What happens to an example depends on (seed, epoch, index of the example)
// only: not on the batch that it is in, on the thread that makes it, nor on
// what else is done to it.
//
// A new augmentation is one file in weft/data/augmentations.
//
// Threads: immutable; share freely. Allocates only on construction.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/base/option_schema.h"
#include "weft/base/philox.h"
#include "weft/base/registry.h"

namespace weft {

// The pixels of one image, which somebody else owns: row-major, channels last.
struct ImagePixels {
  std::uint8_t* data;
  std::int64_t height;
  std::int64_t width;
  std::int64_t channels;

  std::int64_t row_bytes() const { return width * channels; }
  std::int64_t bytes() const { return height * row_bytes(); }
  std::uint8_t* row(std::int64_t y) const { return data + y * row_bytes(); }
};

// Which example, seen for the how-manieth time.
struct ExampleKey {
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
  std::uint64_t index = 0;

  // Four random words. Each augmentation has a `stream` of its own, so that
  // one more of them changes no other's numbers.
  PhiloxBlock draw(std::uint32_t stream) const {
    return RandomStream{seed, stream, epoch}.block(index);
  }
};

class Augmentation {
 public:
  virtual ~Augmentation() = default;
  // Changes the image where it is.
  virtual void apply(const ExampleKey& key, const ImagePixels& image) const = 0;
};

struct AugmentationDef {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options = {};
  // `options` are complete. Throws Error(kInvalidArgument) for a value that
  // makes no sense.
  std::unique_ptr<Augmentation> (*make)(const Options& options) = nullptr;
};

using AugmentationRegistry = Registry<AugmentationDef>;
// It is filled from the files of weft/data/augmentations.
const AugmentationRegistry& augmentation_registry();

// Makes one behind the other.
class Augmentations {
 public:
  Augmentations() = default;
  // Each is written "crop(padding=4)" (base/call_reader.h). Throws
  // Error(kInvalidArgument) for an unknown one, with the nearest name, for one
  // that is there twice, and for options that make no sense.
  explicit Augmentations(const std::vector<std::string>& calls);

  bool is_empty() const { return all_.empty(); }
  // Canonical: with all options.
  const std::vector<std::string>& texts() const { return texts_; }
  void apply(const ExampleKey& key, const ImagePixels& image) const {
    for (const auto& each : all_) each->apply(key, image);
  }

 private:
  std::vector<std::unique_ptr<Augmentation>> all_;
  std::vector<std::string> texts_;
};

}  // namespace weft
