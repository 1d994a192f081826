// Statistics and reports for machines.
//
// Threads: pure functions.
#pragma once

#include <nlohmann/json.hpp>

#include "weft/validation/check.h"

namespace weft::validation {

using Json = nlohmann::ordered_json;

// How many of the most frequent values are listed (and ranks drawn).
inline constexpr std::size_t kTopValues = 20;
inline constexpr std::size_t kMostRanks = 1000;

// rows, features: name, type, present, missing, lists, values, numbers,
// texts, distinct, top; slices. Numbers that are none are null, and bytes that
// are no UTF-8 are shown as replacement characters.
Json to_json(const StatisticsSummary& summary);

// has_errors, anomalies (kind, severity, feature, what, detail, edit) and
// measurements (feature, against, distance, value, threshold, floor, where).
Json to_json(const CheckReport& report);

}  // namespace weft::validation
