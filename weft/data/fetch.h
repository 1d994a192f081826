// Where data lies on this machine, and how it gets here.
//
// Threads: free functions. Where two fetch the same data at once, one waits for
// the
//          other.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "weft/data/registry.h"

namespace weft {

// The folder that holds the data of `def`. Looks, in this order, into
//   1. `given` (--data or the recipe's data.folder), if not empty;
//   2. the environment's WEFT_DATA;
//   3. the data that comes with Weft;
//   4. the cache that `weft data fetch` fills;
// each either as the folder itself or as a folder that holds one called
// def.name. A `given` folder must hold it: nothing else is tried then.
// Throws Error(kUnavailable) that says where it looked and how to get it.
std::filesystem::path locate_data(const DatasetDef& def,
                                  const std::filesystem::path& given = {});

// Locates and opens the data set named in `request`, whose folder may be
// empty.
DatasetSplits open_data(DataRequest request);

// The folder that downloads go to: WEFT_CACHE, else weft/ in
// XDG_CACHE_HOME, else ~/.cache/weft; data sets lie in data/ below it.
std::filesystem::path data_cache();

// Downloads the files of `def` into `cache`/NAME with the curl program, each
// from where it is published or else from its mirrors; checks their SHA-256,
// unpacks archives; returns that folder, which appears only when it is
// complete. What came before the network failed is kept, and gone on with.
// `report` gets a line per step. Throws Error(kUnavailable) without network or
// curl, Error(kDataLoss) for a wrong checksum, Error(kUnsupported) for data
// that nobody may hand out.
std::filesystem::path fetch_data(
    const DatasetDef& def, const std::filesystem::path& cache,
    const std::function<void(const std::string&)>& report);

}  // namespace weft
