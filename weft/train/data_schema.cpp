#include "weft/train/data_schema.h"

#include <algorithm>

#include "weft/validation/check.h"
#include "weft/validation/row_source.h"
#include "weft/validation/schema_text.h"

namespace weft {
namespace {

constexpr const char* kTrainingEnvironment = "training";

Error anomalies_of(const DataRecipe& data,
                   const validation::CheckReport& report) {
  const auto errors =
      std::ranges::count(report.anomalies, validation::Severity::kError,
                         &validation::Anomaly::severity);
  Error error(ErrorCode::kDataLoss, "data.schema",
              "the data are not as {} says: {} anomal{}", data.schema, errors,
              errors == 1 ? "y" : "ies");
  for (const validation::Anomaly& anomaly : report.anomalies) {
    if (anomaly.severity != validation::Severity::kError) continue;
    error.detail(fmt::format(
        "{} ({}): {}", anomaly.feature.empty() ? "the data" : anomaly.feature,
        anomaly.kind, anomaly.detail));
  }
  error.hint(fmt::format("weft validate accept {} --schema {} allows them",
                         data.name, data.schema));
  return error;
}

}  // namespace

void check_schema(const DataRecipe& data) {
  if (data.schema.empty()) return;
  const validation::Schema schema = validation::load_schema(data.schema);
  const std::vector<std::string> environments = schema.environments();
  const bool knows_training =
      std::ranges::find(environments, kTrainingEnvironment) !=
      environments.end();
  const validation::StatisticsSummary rows = validation::summarize(
      validation::statistics_of({.data = data.name, .folder = data.folder},
                                validation::statistics_options(schema)));
  const validation::CheckReport report = validation::check(
      schema, {.data = rows,
               .environment = knows_training ? kTrainingEnvironment : ""});
  if (report.has_errors()) throw anomalies_of(data, report);
}

}  // namespace weft
