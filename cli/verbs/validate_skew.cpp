// weft validate skew TRAINING SERVING --id FEATURE: whether the same event has
// the same features in both.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/text_table.h"
#include "cli/verb.h"

#include "weft/validation/feature_skew.h"
#include "weft/validation/value_text.h"

namespace weft::cli {
namespace {

using validation::FeatureSkew;

constexpr const char* kValidateSkewFooter =
    R"text(SERVING is, say, what weft serve --log-requests has written:

  weft validate skew train.csv requests.jsonl --id id

Exit codes: 0 no feature differs in more than --most of the pairs, 1 some do,
2 bad usage or input.)text";

struct ValidateSkewArguments {
  std::string training;
  std::string serving;
  std::string header = "auto";
  validation::FeatureSkewOptions options;
  int digits = -1;
  double most = 0;
  bool as_json = false;
};

double differing_share(const FeatureSkew& feature, std::uint64_t pairs) {
  return pairs == 0
             ? 0
             : static_cast<double>(feature.diff()) / static_cast<double>(pairs);
}

// What a log of weft serve says of itself is no feature.
bool is_note(const FeatureSkew& feature) {
  return feature.name.starts_with("weft.");
}

Json skew_json(const validation::FeatureSkewReport& report) {
  Json features = Json::array();
  for (const FeatureSkew& feature : report.features) {
    Json each{{"name", validation::shown_text(feature.name)},
              {"base_count", feature.base},
              {"test_count", feature.test},
              {"match", feature.match},
              {"mismatch", feature.mismatch},
              {"base_only", feature.base_only},
              {"test_only", feature.test_only},
              {"diff", feature.diff()}};
    for (const auto& sample : feature.samples) {
      each["samples"].push_back(
          {{"id", validation::shown_text(sample.identifier)},
           {"base", validation::shown_text(sample.base)},
           {"test", validation::shown_text(sample.test)}});
    }
    for (const auto& [values, count] : feature.confusion) {
      each["confusion"].push_back(
          {{"base", validation::shown_text(values.first)},
           {"test", validation::shown_text(values.second)},
           {"count", count}});
    }
    features.push_back(std::move(each));
  }
  return {{"base_rows", report.base_rows},
          {"test_rows", report.test_rows},
          {"pairs", report.pairs},
          {"base_without_id", report.base_without},
          {"test_without_id", report.test_without},
          {"base_duplicates", report.base_duplicates},
          {"test_duplicates", report.test_duplicates},
          {"features", std::move(features)}};
}

std::string count_cell(std::uint64_t count) {
  return grouped(static_cast<std::int64_t>(count));
}

void print_skew(const validation::FeatureSkewReport& report) {
  std::vector<std::vector<std::string>> rows = {{"feature", "match", "differ",
                                                 "only in training",
                                                 "only in serving", "as"}};
  for (const FeatureSkew& feature : report.features) {
    std::vector<std::string> row = {
        printable(validation::shown_text(feature.name, 40)),
        count_cell(feature.match), count_cell(feature.mismatch),
        count_cell(feature.base_only), count_cell(feature.test_only)};
    if (!feature.samples.empty()) {
      const auto& sample = feature.samples[0];
      row.push_back(printable(fmt::format(
          "{}: '{}', '{}'", validation::shown_text(sample.identifier, 20),
          validation::shown_text(sample.base, 20),
          validation::shown_text(sample.test, 20))));
    }
    rows.push_back(std::move(row));
  }
  fmt::print(
      "{}{} pairs of {} and {} rows; without identifier {} and {}; whose "
      "identifier comes again {} and {}\n",
      text_table(rows, "<>>>><"), count_cell(report.pairs),
      count_cell(report.base_rows), count_cell(report.test_rows),
      report.base_without, report.test_without, report.base_duplicates,
      report.test_duplicates);
}

void validate_skew(ValidateSkewArguments& arguments) {
  if (arguments.digits >= 0) arguments.options.digits = arguments.digits;
  const auto open = [&](const std::string& data) {
    return validation::open_rows({.data = data, .header = arguments.header});
  };
  const auto training = open(arguments.training);
  const auto serving = open(arguments.serving);
  validation::FeatureSkewReport report =
      validation::measure_feature_skew(*training, *serving, arguments.options);
  std::erase_if(report.features, is_note);
  if (arguments.as_json) {
    print_json(skew_json(report));
  } else {
    print_skew(report);
  }
  for (const FeatureSkew& feature : report.features) {
    if (differing_share(feature, report.pairs) > arguments.most) {
      throw Reported{ErrorCode::kNumeric};
    }
  }
}

void add_validate_skew(CLI::App& verb) {
  auto arguments = std::make_shared<ValidateSkewArguments>();
  verb.add_option("TRAINING", arguments->training, "the rows of training")
      ->required();
  verb.add_option("SERVING", arguments->serving, "the rows that were served")
      ->required();
  verb.add_option("--id", arguments->options.identifiers,
                  "the features that tell events apart")
      ->required()
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("FEATURE,…");
  verb.add_option("--digits", arguments->digits,
                  "compare numbers rounded to so many digits behind the point")
      ->check(CLI::Range(0, 300));
  verb.add_flag(
      "--pairs", arguments->options.pairs_duplicates,
      "compare all rows that share an identifier, and leave out none");
  verb.add_option("--confusion", arguments->options.confusion,
                  "count the pairs of values of these features")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("FEATURE,…");
  verb.add_option("--most", arguments->most,
                  "the share of pairs in which a feature may differ")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  verb.add_option("--header", arguments->header,
                  "whether the first record of a table names its columns")
      ->check(CLI::IsMember({"auto", "yes", "no"}));
  verb.add_flag("--json", arguments->as_json,
                "print one JSON object, and nothing else on standard output");
  verb.footer(kValidateSkewFooter);
  verb.callback([arguments] { validate_skew(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_validate_skew(cli::VerbRegistry& verbs) {
  verbs.add({.name = "validate skew",
             .summary = "Hold served rows against those of training, by id",
             .add = cli::add_validate_skew});
}

}  // namespace weft
