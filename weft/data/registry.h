// All data sets that can be named in a recipe, one file of weft/data/readers
// per format.
//
// Threads: immutable after freeze(); dataset_registry() is safe anywhere.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/option_schema.h"
#include "weft/base/registry.h"
#include "weft/data/dataset.h"

namespace weft {

// What a reader is asked for.
struct DataRequest {
  std::string name;                   // which data set
  std::filesystem::path folder = {};  // where it lies; see weft/data/fetch.h
  // For text they say how many streams are read side by side, and how many
  // words of each make an example.
  std::int64_t batch = 20;
  std::int64_t steps = 35;
  Options options = {};  // what the reader declares; open_data() completes them
};

// A file of a public data set, where its makers publish it.
struct SourceFile {
  std::string url;
  std::string name;    // under which it is kept
  std::string sha256;  // 64 hexadecimal digits
  std::uint64_t bytes = 0;
  bool is_archive = false;  // a .tar.gz whose files are unpacked flat
  // Where others keep the same bytes; tried in turn where the publisher fails.
  std::vector<std::string> mirrors = {};
};

struct DatasetDef {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options = {};  // further keys of [data]
  // Opens what lies in request.folder.
  DatasetSplits (*open)(const DataRequest& request) = nullptr;
  // True if the folder holds this data.
  bool (*is_in)(const std::filesystem::path& folder) = nullptr;
  // For tables, the file in the folder whose rows the training part is of, as
  // it stands, for who looks at them before a reader does; null for other data.
  std::filesystem::path (*table)(const std::filesystem::path& folder) = nullptr;
  // Where `weft data fetch` gets it; none if it cannot be fetched.
  std::vector<SourceFile> sources = {};
  std::string terms = {};  // licence, and why it cannot be fetched if it cannot
  // False for formats ("csv"), whose data is always the user's own.
  bool is_named_set = true;
};

using DatasetRegistry = Registry<DatasetDef>;
// It is filled from the files of weft/data/readers.
const DatasetRegistry& dataset_registry();

}  // namespace weft
