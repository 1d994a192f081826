// What the verbs below weft validate share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/validation/check.h"
#include "weft/validation/row_source.h"

namespace CLI {
class App;
}

namespace weft::cli {

// Which data, and how they are counted.
struct ValidateData {
  validation::RowRequest rows;
  validation::StatisticsOptions options;
};

// DATA, --data, --part, --header, --weight, --exact and --slice.
void add_data_options(CLI::App& verb, ValidateData& data);

// --images, where no schema says what is decoded.
void add_image_option(CLI::App& verb, ValidateData& data);
// Throws Error(kInvalidArgument) for images of a feature that is not there.
void check_images_are_there(const validation::StatisticsSummary& summary,
                            const ValidateData& data);

// What the data are held against.
struct ValidateAgainst {
  std::string schema;  // a file
  std::string environment;
  std::string previous;  // data
  std::string serving;   // data
};

// --schema, --environment, --previous and --serving.
void add_schema_options(CLI::App& verb, ValidateAgainst& against);

struct ValidateChecked {
  validation::StatisticsSummary data;
  std::optional<validation::StatisticsSummary> previous;
  std::optional<validation::StatisticsSummary> serving;
  validation::CheckReport report;
};
ValidateChecked check_data(const ValidateData& data,
                           const validation::Schema& schema,
                           const ValidateAgainst& against);

// The anomalies, each with the edit that would allow it.
std::string anomalies_text(const validation::CheckReport& report);
std::string measurements_table(const validation::CheckReport& report);

// The statistics, a line for each feature.
std::string statistics_table(const validation::StatisticsSummary& summary);
// What each feature says of the label.
std::string associations_table(const validation::StatisticsSummary& summary);

}  // namespace weft::cli
