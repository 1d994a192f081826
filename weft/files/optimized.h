// Exported functions made faster for one machine, and what was found about
// them, which travels in the metadata of the file as "weft.optimized".
//
// Threads: as optimize().
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "weft/files/safetensors.h"
#include "weft/runtime/optimize.h"

namespace weft {

// Reads an exported function, optimizes it with everything frozen that it does
// not assign, computes once what depends on that alone, and writes the rest.
// Free dims are `batch` where it is measured, and stay free in the file. What
// else the metadata says stays. Further functions, as the one that measures a
// model, are optimized likewise, each within the same limits, or stay as they
// are where optimize() cannot; the report is of the main one. Throws as
// ExportedFunction, optimize() and export_functions() do.
OptimizeReport optimize_exported(const std::filesystem::path& from,
                                 const std::filesystem::path& to,
                                 std::int64_t batch,
                                 const OptimizeOptions& options);

// The report in a file's metadata, if there is one. Throws Error(kDataLoss)
// naming `where` for a damaged one.
std::optional<OptimizeReport> optimize_report(const TextMetadata& metadata,
                                              std::string_view where);

// A report as one line of JSON, and back. Throws Error(kDataLoss) naming
// `where`.
std::string to_json(const OptimizeReport& report);
OptimizeReport parse_optimize_report(std::string_view text,
                                     std::string_view where);

}  // namespace weft
