#include "weft/validation/check.h"

#include <algorithm>
#include <cmath>

#include "weft/validation/infer.h"
#include "weft/validation/schema_diff.h"
#include "weft/validation/value_text.h"

namespace weft::validation {
namespace {

// Those of the data as a whole, and of features that are on one side only.
std::vector<AnomalyKind> structural_kinds() {
  return {
      {"new_column", "a feature that the schema has not, or not here"},
      {"missing_column", "a feature that must be there is not"},
      {"few_rows", "fewer rows than min_rows, by itself 1"},
      {"many_rows", "more rows than max_rows"},
      {"rows_fell", "fewer rows than min_rows_ratio of the previous data"},
      {"rows_rose", "more rows than max_rows_ratio of the previous data"},
  };
}

Severity severity_of(const Schema& schema, std::string_view kind) {
  const auto said = schema.severity.find(std::string(kind));
  if (said != schema.severity.end()) return said->second;
  const std::vector<AnomalyKind> kinds = all_anomaly_kinds();
  const auto found = std::ranges::find(kinds, kind, &AnomalyKind::name);
  WEFT_CHECK(found != kinds.end(), "no kind of anomaly is called '{}'", kind);
  return found->severity;
}

void add_anomaly(CheckReport& report, Anomaly anomaly) {
  anomaly.severity = severity_of(report.repaired, anomaly.kind);
  if (anomaly.severity == Severity::kOff) return;
  report.anomalies.push_back(std::move(anomaly));
}

void check_rows(const CheckInput& input, CheckReport& report) {
  DatasetRule& rule = report.repaired.dataset;
  const auto rows = static_cast<std::int64_t>(input.data.rows);
  const auto add = [&](std::string kind, std::string what, std::string detail,
                       std::string edit) {
    add_anomaly(report, {.kind = std::move(kind),
                         .feature = {},
                         .what = std::move(what),
                         .detail = std::move(detail),
                         .edit = std::move(edit)});
  };
  if (const std::int64_t least = rule.min_rows.value_or(1); rows < least) {
    rule.min_rows = rows;
    add("few_rows", "too few rows",
        fmt::format("{} rows, and at least {} are "
                    "due",
                    rows, least),
        fmt::format("dataset.min_rows = {}", rows));
  }
  if (rule.max_rows && rows > *rule.max_rows) {
    add("many_rows", "too many rows",
        fmt::format("{} rows, and at most {} are due", rows, *rule.max_rows),
        fmt::format("dataset.max_rows = {}", rows));
    rule.max_rows = rows;
  }
  if (input.previous == nullptr || input.previous->rows == 0) return;
  const double ratio =
      static_cast<double>(rows) / static_cast<double>(input.previous->rows);
  if (rule.min_rows_ratio && ratio < *rule.min_rows_ratio) {
    add("rows_fell", "far fewer rows than before",
        fmt::format("{} rows are {:.3g} of the {} before, and at least {} is "
                    "due",
                    rows, ratio, input.previous->rows, *rule.min_rows_ratio),
        fmt::format("dataset.min_rows_ratio = {}", ratio));
    rule.min_rows_ratio = ratio;
  }
  if (rule.max_rows_ratio && ratio > *rule.max_rows_ratio) {
    add("rows_rose", "far more rows than before",
        fmt::format("{} rows are {:.3g} of the {} before, and at most {} is "
                    "due",
                    rows, ratio, input.previous->rows, *rule.max_rows_ratio),
        fmt::format("dataset.max_rows_ratio = {}", ratio));
    rule.max_rows_ratio = ratio;
  }
}

// A feature that the schema does not expect here.
void check_new_column(const CheckInput& input, const FeatureSummary& seen,
                      CheckReport& report) {
  Schema& schema = report.repaired;
  Anomaly anomaly{.kind = "new_column",
                  .feature = seen.name,
                  .what = "a new column",
                  .detail = fmt::format("{} of {} rows have it, and the schema "
                                        "does not",
                                        seen.present, seen.rows),
                  .edit = {}};
  FeatureRule* rule = schema.find(seen.name);
  if (rule == nullptr) {
    if (!is_utf8(seen.name)) {
      throw Error(ErrorCode::kDataLoss, "schema",
                  "the name '{}' of a feature is no UTF-8",
                  shown_text(seen.name, 80));
    }
    FeatureRule added = infer_feature(seen);
    const bool is_default =
        schema.is_in(FeatureRule{.name = {}}, input.environment);
    if (!is_default) added.in_environments = {input.environment};
    anomaly.edit = diff_text(std::nullopt, added);
    schema.features.push_back(std::move(added));
  } else if (rule->is_live() && !schema.is_in(*rule, input.environment)) {
    const FeatureRule before = *rule;
    anomaly.detail =
        fmt::format("the schema does not have it in '{}'", input.environment);
    std::erase(rule->not_in_environments, input.environment);
    if (!schema.is_in(*rule, input.environment)) {
      rule->in_environments.push_back(input.environment);
    }
    anomaly.edit = diff_text(before, *rule);
  } else {
    return;
  }
  add_anomaly(report, std::move(anomaly));
}

void check_missing_column(const CheckInput& input, FeatureRule& rule,
                          CheckReport& report) {
  if (!rule.is_required()) return;
  const FeatureRule before = rule;
  rule.stage = Stage::kDeprecated;
  add_anomaly(report, {.kind = "missing_column",
                       .feature = rule.name,
                       .what = "a column is missing",
                       .detail = input.data.find(rule.name) == nullptr
                                     ? "the data do not have it"
                                     : "no row has a value in it",
                       .edit = diff_text(before, rule)});
}

std::vector<const FeatureCheckDef*> checks_in_order() {
  std::vector<const FeatureCheckDef*> checks;
  for (const FeatureCheckDef& def : feature_check_registry().all()) {
    checks.push_back(&def);
  }
  std::ranges::stable_sort(checks, {}, &FeatureCheckDef::order);
  return checks;
}

}  // namespace

bool CheckReport::has_errors() const {
  return std::ranges::any_of(anomalies, [](const Anomaly& anomaly) {
    return anomaly.severity == Severity::kError;
  });
}

FeatureCheck::FeatureCheck(const CheckInput& the_input,
                           const FeatureSummary& the_feature,
                           CheckReport& report, FeatureRule& the_rule)
    : input(the_input),
      seen(the_feature),
      rule(the_rule),
      schema(report.repaired),
      report_(report),
      before_(the_rule) {
  if (const auto* values = schema.values_of(rule)) values_before_ = *values;
}

void FeatureCheck::report(std::string_view kind, std::string what,
                          std::string detail) {
  const auto* values = schema.values_of(rule);
  std::string edit = diff_text(before_, rule);
  // A list that several features share is no part of the rule.
  if (before_.values_of == rule.values_of && !rule.values_of.empty()) {
    edit += list_diff_text("values." + toml_key(rule.values_of) + ".list",
                           values_before_, *values);
  }
  add_anomaly(report_, {.kind = std::string(kind),
                        .feature = rule.name,
                        .what = std::move(what),
                        .detail = std::move(detail),
                        .edit = std::move(edit)});
  before_ = rule;
  values_before_ = values == nullptr ? std::vector<std::string>() : *values;
}

void FeatureCheck::measured(Measurement measurement) {
  measurement.feature = rule.name;
  report_.measurements.push_back(std::move(measurement));
}

CheckReport check(const Schema& schema, const CheckInput& input) {
  schema.check_environment(input.environment);
  CheckReport report{.anomalies = {}, .measurements = {}, .repaired = schema};
  check_rows(input, report);
  // Nothing else can be said of no rows.
  if (input.data.rows == 0) return report;
  // What is new is added behind what there is, and allows what was seen.
  const std::size_t known = report.repaired.features.size();
  for (const FeatureSummary& seen : input.data.features) {
    if (seen.present > 0) check_new_column(input, seen, report);
  }
  const std::vector<const FeatureCheckDef*> checks = checks_in_order();
  for (std::size_t i = 0; i < known; ++i) {
    FeatureRule& rule = report.repaired.features[i];
    // What has just been allowed here is checked the next time.
    if (!rule.is_live() || !schema.is_in(schema.features[i], input.environment))
      continue;
    const FeatureSummary* seen = input.data.find(rule.name);
    if (seen == nullptr || seen->present == 0) {
      check_missing_column(input, rule, report);
      continue;
    }
    FeatureCheck feature(input, *seen, report, rule);
    for (const FeatureCheckDef* def : checks) {
      if (!feature.is_over) def->check(feature);
    }
  }
  return report;
}

std::vector<AnomalyKind> all_anomaly_kinds() {
  std::vector<AnomalyKind> kinds = structural_kinds();
  for (const FeatureCheckDef* def : checks_in_order()) {
    kinds.insert(kinds.end(), def->kinds.begin(), def->kinds.end());
  }
  return kinds;
}

std::vector<std::string> anomaly_kinds() {
  std::vector<std::string> names;
  for (const AnomalyKind& kind : all_anomaly_kinds()) {
    names.push_back(kind.name);
  }
  return names;
}

std::string share_text(double share) {
  if (share > 0 && share < 0.01) return "<1 %";
  return fmt::format("{:.3g} %", 100 * share);
}

double share_below(double share) {
  constexpr double kSteps = 1e4;
  return std::floor(share * kSteps) / kSteps;
}

std::string listed(const std::vector<std::string>& values) {
  constexpr std::size_t kMostListed = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(values.size(), kMostListed); ++i) {
    text +=
        fmt::format("{}'{}'", i == 0 ? "" : ", ", shown_text(values[i], 40));
  }
  if (values.size() > kMostListed) {
    text += fmt::format(" and {} more", values.size() - kMostListed);
  }
  return text;
}

}  // namespace weft::validation
