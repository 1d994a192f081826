// The data of a training, opened: its parts as sources of batches.
//
// A new kind of source is one file in weft/train/sources.
//
// Threads: caller synchronises.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/option_schema.h"
#include "weft/base/registry.h"
#include "weft/data/batch_source.h"
#include "weft/data/dataset.h"
#include "weft/data/poisson_order.h"

namespace weft {

// What a source is asked for.
struct DataOptions {
  std::string name;                  // which data
  std::filesystem::path folder;      // where they lie; empty: weft/data/fetch.h
  std::vector<std::string> augment;  // data/augmentation.h
  std::int64_t batch = 32;           // for all workers together
  std::int64_t steps = 35;           // of text: words per example
  bool drop_last = false;            // leave out a last batch that is not full
  std::uint64_t seed = 1;
  int workers = 1;  // that share a batch
  // Whether a thread of the source's may make batches before they are asked
  // for: of no use to workers that take turns on one thread.
  bool makes_ahead = true;
  // Batches of the training part are drawn so, in the place of shuffling: for
  // private training. A source that cannot do so refuses it.
  std::optional<PoissonSampling> poisson = {};
  Options own;  // what the source declares, complete

  bool operator==(const DataOptions&) const = default;
};

enum class DataPart { kTrain, kValid, kTest };

// "train", "valid", "test".
std::string_view to_string(DataPart part);
// Throws Error(kInvalidArgument) for another name.
DataPart data_part(std::string_view name);

class TrainingData {
 public:
  virtual ~TrainingData() = default;

  // Describes the training part; the others are like it.
  virtual const DataDescription& description() const = 0;
  virtual bool has(DataPart part) const = 0;

  // The batches to train on: shuffled, changed at random. Throws
  // Error(kInvalidArgument) for options that do not suit the data.
  virtual std::unique_ptr<BatchSource> train(const Shard& shard) const = 0;
  // A part to measure on, the same in each pass, with no example left out. The
  // part must be there.
  virtual std::unique_ptr<BatchSource> measure(DataPart part,
                                               const Shard& shard) const = 0;

  // What tells these data from others, as name and value: workers that train
  // together must have the same.
  virtual std::vector<std::pair<std::string, std::string>> fingerprint()
      const = 0;
};

struct BatchSourceDef {
  std::string name;
  std::string summary;
  // The further keys of [data]: the source's own, and those of the named data.
  // Throws Error(kInvalidArgument) for data that it does not know, with the
  // nearest name.
  std::vector<OptionSpec> (*options)(const std::string& name) = nullptr;
  // The data that it knows by name.
  std::vector<std::string> (*names)() = nullptr;
  // Throws what opening the data throws.
  std::unique_ptr<TrainingData> (*open)(const DataOptions& options) = nullptr;
};

// Opens the data; sources of it are held to what they declare
// (data/checked_source.h). Throws what opening throws.
std::unique_ptr<TrainingData> open_training_data(const BatchSourceDef& def,
                                                 const DataOptions& options);

// Data that a program has made, held to what they declare likewise; `source` is
// what errors call them.
std::shared_ptr<const TrainingData> checked_data(
    std::shared_ptr<const TrainingData> data, std::string_view source);

using BatchSourceRegistry = Registry<BatchSourceDef>;
// It is filled from the files of weft/train/sources.
const BatchSourceRegistry& batch_source_registry();

}  // namespace weft
