// weft validate diff DATA OTHER: how far two batches of data are apart, feature
// by feature.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/text_table.h"
#include "cli/validation.h"
#include "cli/verb.h"

#include "weft/validation/distance.h"
#include "weft/validation/report_json.h"
#include "weft/validation/value_text.h"

namespace weft::cli {
namespace {

using validation::FeatureSummary;
using validation::StatisticsSummary;

struct ValidateDiffArguments {
  ValidateData data;
  std::string other;
  std::string histogram = "equal_width";
  bool as_json = false;
};

Json distances_json(const FeatureSummary& first, const FeatureSummary& second,
                    const std::string& histogram) {
  Json all = Json::object();
  for (const auto& def : distance_registry().all()) {
    try {
      const auto measured = measure_distance(def, first, second, histogram);
      all[def.name] = {{"value", number(measured.distance.value)},
                       {"floor", number(measured.floor)}};
      if (!measured.distance.where.empty()) {
        all[def.name]["where"] = measured.distance.where;
      }
    } catch (const Error& error) {
      all[def.name] = {{"declined", error.message()}};
    }
  }
  return all;
}

Json diff_json(const StatisticsSummary& ours, const StatisticsSummary& theirs,
               const std::string& histogram) {
  Json features = Json::array();
  for (const FeatureSummary& feature : ours.features) {
    const FeatureSummary* other = theirs.find(feature.name);
    Json each{{"name", validation::shown_text(feature.name)},
              {"present_share", feature.present_share()}};
    if (other != nullptr) {
      each["other_present_share"] = other->present_share();
      each["distances"] = distances_json(feature, *other, histogram);
    }
    features.push_back(std::move(each));
  }
  return {{"rows", ours.rows},
          {"other_rows", theirs.rows},
          {"features", std::move(features)}};
}

// "0.031 (0.004)", with what sampling alone is expected to make of it.
std::string measured_text(const Json& distances, const std::string& name) {
  const Json& each = distances[name];
  if (each.contains("declined")) return "-";
  return fmt::format("{:.4f} ({:.4f})", each["value"].get<double>(),
                     each["floor"].get<double>());
}

void print_diff(const Json& diff) {
  std::vector<std::vector<std::string>> rows = {
      {"feature", "present", "there", "l_infinity", "jensen_shannon", "at"}};
  for (const Json& feature : diff["features"]) {
    std::vector<std::string> row = {
        printable(feature["name"].get<std::string>()),
        validation::share_text(feature["present_share"].get<double>())};
    if (feature.contains("distances")) {
      const Json& distances = feature["distances"];
      row.push_back(
          validation::share_text(feature["other_present_share"].get<double>()));
      row.push_back(measured_text(distances, "l_infinity"));
      row.push_back(measured_text(distances, "jensen_shannon"));
      row.push_back(printable(distances["l_infinity"].value("where", "")));
    } else {
      row.emplace_back("none");
    }
    rows.push_back(std::move(row));
  }
  fmt::print(
      "{}in parentheses: what two samples of one distribution are "
      "expected to differ by\n",
      text_table(rows, "<>>>><"));
}

void validate_diff(const ValidateDiffArguments& arguments) {
  validation::RowRequest other = arguments.data.rows;
  other.data = arguments.other;
  const StatisticsSummary ours = validation::summarize(
      validation::statistics_of(arguments.data.rows, arguments.data.options));
  const StatisticsSummary theirs = validation::summarize(
      validation::statistics_of(other, arguments.data.options));
  const Json diff = diff_json(ours, theirs, arguments.histogram);
  if (arguments.as_json) return print_json(diff);
  print_diff(diff);
}

void add_validate_diff(CLI::App& verb) {
  auto arguments = std::make_shared<ValidateDiffArguments>();
  add_data_options(verb, arguments->data);
  verb.add_option("OTHER", arguments->other, "the data to compare with")
      ->required();
  verb.add_option("--histogram", arguments->histogram,
                  "which histograms of numbers are compared")
      ->check(CLI::IsMember({"equal_width", "quantiles", "values"}));
  verb.add_flag("--json", arguments->as_json,
                "print one JSON object with all distances, and nothing else on "
                "standard output");
  verb.callback([arguments] { validate_diff(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_validate_diff(cli::VerbRegistry& verbs) {
  verbs.add({.name = "validate diff",
             .summary = "Say how far two batches of data are apart",
             .add = cli::add_validate_diff});
}

}  // namespace weft
