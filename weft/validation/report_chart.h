// The charts of a report's page, as inline SVG.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "weft/validation/summary.h"

namespace weft::validation {

// `text` with what HTML would read as its own written out, and U+FFFD for bytes
// that are no UTF-8.
std::string html_text(std::string_view text, std::size_t most = 256);
// Five digits of a number, for people.
std::string brief(double number);

// The share of numbers in each of the buckets; of the other data beside, if
// they have any.
std::string histogram_chart(const NumberSummary& numbers,
                            const NumberSummary* other);
// The tenths of the numbers along a line, as far apart as they are.
std::string quantile_chart(const NumberSummary& numbers,
                           const NumberSummary* other);
// The shares of the most frequent values.
std::string values_chart(const FeatureSummary& feature,
                         const FeatureSummary* other);

}  // namespace weft::validation
