// What the verbs below weft validate share.
#pragma once

#include <string>
#include <vector>

#include "weft/validation/row_source.h"
#include "weft/validation/summary.h"

namespace CLI {
class App;
}

namespace weft::cli {

// Which data, and how they are counted.
struct ValidateData {
  validation::RowRequest rows;
  validation::StatisticsOptions options;
};

// DATA, --data, --part, --header, --weight and --slice.
void add_data_options(CLI::App& verb, ValidateData& data);

// The statistics, a line for each feature.
std::string statistics_table(const validation::StatisticsSummary& summary);

}  // namespace weft::cli
