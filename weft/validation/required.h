// Data that must be as a schema says before anything is done with them.
//
// Threads: thread-safe.
#pragma once

#include <filesystem>
#include <string_view>

#include "weft/validation/row_source.h"

namespace weft::validation {

// Counts the rows in one pass and holds them against the schema of a file, in
// `environment` where that knows it. Throws Error(kDataLoss) of `where` with
// the anomalies that are errors, and what reading the schema or the data
// throws.
void require_schema(const std::filesystem::path& schema, const RowRequest& rows,
                    const std::string& environment, std::string_view where);

}  // namespace weft::validation
