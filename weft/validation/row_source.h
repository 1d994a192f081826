// Where rows come from, as columns: a CSV file, JSON lines, any data set that
// readers know. A new format is one file in weft/validation/sources.
//
// Threads: a source belongs to one thread; the registry is immutable.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "weft/base/registry.h"
#include "weft/validation/column_batch.h"
#include "weft/validation/statistics.h"

namespace weft::validation {

class RowSource {
 public:
  virtual ~RowSource() = default;
  // The next rows, some thousands; false behind the last. What `batch` holds
  // points into the source until the next call. Throws Error(kDataLoss) with
  // file and line for damaged data.
  virtual bool next(ColumnBatch& batch) = 0;
};

struct RowRequest {
  std::string data;  // a file, or the name of a data set
  // Where a named data set lies (data/fetch.h), and which part of it is meant.
  std::filesystem::path folder = {};
  std::string part = "train";
  // Whether the first record of a table names its columns: "auto" (if no field
  // of it is a number), "yes" or "no".
  std::string header = "auto";
};

struct RowSourceDef {
  std::string name;
  std::string summary;
  // Whether it reads what is asked for, by its name alone.
  bool (*reads)(const RowRequest& request) = nullptr;
  std::unique_ptr<RowSource> (*open)(const RowRequest& request) = nullptr;
};

using RowSourceRegistry = Registry<RowSourceDef>;

// Throws Error(kUnsupported) for what no source reads, and what opening throws.
std::unique_ptr<RowSource> open_rows(const RowRequest& request);

// The statistics of all rows; or those that a file of weft validate stats
// (*.stats) has kept, which must have been made with these options.
Statistics statistics_of(const RowRequest& request,
                         const StatisticsOptions& options = {});

}  // namespace weft::validation

namespace weft {
// It is filled from the files of weft/validation/sources.
const validation::RowSourceRegistry& row_source_registry();
}  // namespace weft
