// Tables as texts, and what is found in them.
#pragma once

#include <string>

#include "weft/validation/csv_rows.h"
#include "weft/validation/summary.h"

namespace weft::test {

inline validation::StatisticsSummary summary_of_table(
    std::string_view text, validation::StatisticsOptions options = {}) {
  validation::CsvRows rows(text, "test.csv", "yes");
  validation::Statistics statistics(std::move(options));
  validation::ColumnBatch batch;
  while (rows.next(batch)) statistics.add(batch);
  return validation::summarize(statistics);
}

// A column of `values`, each so often.
inline std::string table_of(
    const std::vector<std::pair<std::string, int>>& values) {
  std::string text = "x\n";
  for (const auto& [value, count] : values) {
    for (int i = 0; i < count; ++i) text += "\"" + value + "\"\n";
  }
  return text;
}

}  // namespace weft::test
