#include "cli/validation.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <fmt/core.h>

#include "cli/terminal.h"
#include "cli/text_table.h"

#include "weft/validation/value_text.h"

namespace weft::cli {
namespace {

using validation::FeatureSummary;
using validation::NumberSummary;

// Five digits are what a table has room for.
std::string short_number(long double value) {
  return fmt::format("{:.5g}", static_cast<double>(value));
}

std::string values_text(const FeatureSummary& feature) {
  if (feature.type != validation::ValueType::kString) {
    const NumberSummary& numbers = *feature.numbers;
    if (numbers.finite == 0) return "no finite number";
    return fmt::format("{} … {}, mean {}, median {}",
                       short_number(numbers.least), short_number(numbers.most),
                       short_number(numbers.mean),
                       short_number(numbers.median));
  }
  std::string text;
  for (const auto& value : feature.counts) {
    const std::string next =
        fmt::format("{}{} {}", text.empty() ? "" : ", ",
                    printable(validation::shown_text(value.text, 24)),
                    grouped(static_cast<std::int64_t>(value.count)));
    if (text.size() + next.size() > 56) return text + ", …";
    text += next;
  }
  return text;
}

}  // namespace

void add_data_options(CLI::App& verb, ValidateData& data) {
  verb.add_option("DATA", data.rows.data,
                  "a .csv, .jsonl or .parquet file, the name of a data set, or "
                  ".stats")
      ->required();
  verb.add_option("--data", data.rows.folder, "folder of a named data set")
      ->type_name("DIR");
  verb.add_option("--part", data.rows.part, "which part of a named data set")
      ->check(CLI::IsMember({"train", "valid", "test"}));
  verb.add_option("--header", data.rows.header,
                  "whether the first record of a table names its columns; "
                  "auto: if no field of it is a number")
      ->check(CLI::IsMember({"auto", "yes", "no"}));
  verb.add_option("--weight", data.options.weight,
                  "the feature that says how often a row counts")
      ->type_name("FEATURE");
  verb.add_option("--exact", data.options.exact_values,
                  "different values of a feature that are counted exactly; "
                  "more take sketches")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 24));
  verb.add_option("--slice", data.options.slices,
                  "statistics for each value of these features as well")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("FEATURE,…");
}

void add_image_option(CLI::App& verb, ValidateData& data) {
  verb.add_option_function<std::vector<std::string>>(
          "--images",
          [&data](const std::vector<std::string>& names) {
            data.options.images = {names.begin(), names.end()};
          },
          "decode the images of these features: how large, coloured and deep "
          "they are, and how many are damaged")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("FEATURE,…");
}

void check_images_are_there(const validation::StatisticsSummary& summary,
                            const ValidateData& data) {
  std::vector<std::string> known;
  for (const FeatureSummary& feature : summary.features) {
    known.push_back(feature.name);
  }
  for (const std::string& name : data.options.images) {
    if (summary.find(name) != nullptr) continue;
    Error error(ErrorCode::kInvalidArgument, "images",
                "the data have no feature '{}'", name);
    if (const std::string near = nearest(name, known); !near.empty()) {
      error.hint(fmt::format("did you mean '{}'?", near));
    }
    throw error;
  }
}

void add_schema_options(CLI::App& verb, ValidateAgainst& against) {
  verb.add_option("--schema", against.schema, "what the data must be")
      ->required()
      ->type_name("FILE");
  verb.add_option("--environment", against.environment,
                  "where the data are from: features of other environments "
                  "may be missing")
      ->type_name("NAME");
  verb.add_option("--previous", against.previous,
                  "data of before, which drift is measured from")
      ->type_name("DATA");
  verb.add_option("--serving", against.serving,
                  "data that were served, which skew is measured from")
      ->type_name("DATA");
}

ValidateChecked check_data(const ValidateData& data,
                           const validation::Schema& schema,
                           const ValidateAgainst& against) {
  const validation::StatisticsOptions options =
      validation::statistics_options(schema, data.options);
  const auto summary_of = [&](const std::string& name) {
    validation::RowRequest rows = data.rows;
    rows.data = name;
    return validation::summarize(validation::statistics_of(rows, options));
  };
  ValidateChecked checked{summary_of(data.rows.data), {}, {}, {}};
  if (!against.previous.empty())
    checked.previous = summary_of(against.previous);
  if (!against.serving.empty()) checked.serving = summary_of(against.serving);
  checked.report = validation::check(
      schema, {.data = checked.data,
               .previous = checked.previous ? &*checked.previous : nullptr,
               .serving = checked.serving ? &*checked.serving : nullptr,
               .environment = against.environment});
  return checked;
}

std::string anomalies_text(const validation::CheckReport& report) {
  std::string text;
  for (const validation::Anomaly& anomaly : report.anomalies) {
    text +=
        fmt::format("{}: {}{} ({}): {}\n", to_string(anomaly.severity),
                    anomaly.feature, anomaly.feature.empty() ? "the data" : "",
                    anomaly.kind, anomaly.detail);
    for (std::size_t begin = 0; begin < anomaly.edit.size();) {
      const std::size_t end =
          std::min(anomaly.edit.find('\n', begin), anomaly.edit.size());
      text += "    " + anomaly.edit.substr(begin, end - begin) + "\n";
      begin = end + 1;
    }
  }
  return printable(text);
}

std::string measurements_table(const validation::CheckReport& report) {
  std::vector<std::vector<std::string>> rows = {
      {"feature", "against", "distance", "is", "at most", "by sampling", ""}};
  for (const validation::Measurement& each : report.measurements) {
    rows.push_back({printable(validation::shown_text(each.feature, 40)),
                    each.against, each.distance, short_number(each.value),
                    short_number(each.most), short_number(each.floor),
                    printable(each.where)});
  }
  return rows.size() == 1 ? "" : text_table(rows, "<<<>>><");
}

std::string statistics_table(const validation::StatisticsSummary& summary) {
  std::vector<std::vector<std::string>> rows = {
      {"feature", "type", "missing", "distinct", "values"}};
  for (const FeatureSummary& feature : summary.features) {
    const double missing = 100 * (1 - feature.present_share());
    rows.push_back(
        {printable(validation::shown_text(feature.name, 40)),
         std::string(to_string(feature.type)),
         feature.missing() == 0 ? "0" : fmt::format("{:.2g} %", missing),
         (feature.is_exact ? "" : "~") +
             grouped(static_cast<std::int64_t>(std::llround(feature.distinct))),
         values_text(feature)});
  }
  return text_table(rows, "<<>><");
}

std::string associations_table(const validation::StatisticsSummary& summary) {
  constexpr std::size_t kShown = 3;
  std::vector<std::vector<std::string>> rows = {
      {"feature", "bits", "by chance", "of all", "times more often"}};
  for (const validation::LabelAssociation& each : summary.associations) {
    std::string lifts;
    for (std::size_t i = 0; i < std::min(kShown, each.lifts.size()); ++i) {
      const validation::Lift& lift = each.lifts[i];
      lifts += fmt::format("{}{} {:.3g} × {}", i == 0 ? "" : ", ", lift.value,
                           lift.lift, validation::shown_text(lift.label, 16));
    }
    rows.push_back({printable(validation::shown_text(each.feature, 40)),
                    short_number(each.bits), short_number(each.by_chance),
                    fmt::format("{:.1f} %", 100 * each.share),
                    printable(lifts)});
  }
  return text_table(rows, "<>>><");
}

}  // namespace weft::cli
