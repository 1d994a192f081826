#include "weft/validation/required.h"

#include <algorithm>

#include "weft/validation/check.h"
#include "weft/validation/schema_text.h"

namespace weft::validation {

void require_schema(const std::filesystem::path& path, const RowRequest& rows,
                    const std::string& environment, std::string_view where) {
  const Schema schema = load_schema(path);
  const std::vector<std::string> known = schema.environments();
  const bool knows_it = std::ranges::find(known, environment) != known.end();
  const StatisticsSummary data =
      summarize(statistics_of(rows, statistics_options(schema)));
  const CheckReport report =
      check(schema, {.data = data, .environment = knows_it ? environment : ""});
  if (!report.has_errors()) return;
  const auto errors = std::ranges::count(report.anomalies, Severity::kError,
                                         &Anomaly::severity);
  Error error(ErrorCode::kDataLoss, where,
              "the data are not as {} says: {} anomal{}", path.string(), errors,
              errors == 1 ? "y" : "ies");
  for (const Anomaly& anomaly : report.anomalies) {
    if (anomaly.severity != Severity::kError) continue;
    error.detail(fmt::format(
        "{} ({}): {}", anomaly.feature.empty() ? "the data" : anomaly.feature,
        anomaly.kind, anomaly.detail));
  }
  error.hint(fmt::format("weft validate accept {} --schema {} allows them",
                         rows.data, path.string()));
  throw error;
}

}  // namespace weft::validation
