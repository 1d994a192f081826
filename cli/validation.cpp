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
    const std::string next = fmt::format(
        "{}{} {}", text.empty() ? "" : ", ",
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
                  "a .csv or .jsonl file, the name of a data set, or .stats")
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
  verb.add_option("--slice", data.options.slices,
                  "statistics for each value of these features as well")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("FEATURE,…");
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

}  // namespace weft::cli
