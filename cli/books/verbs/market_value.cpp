// weft market value: what each example of a data set is worth.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fmt/core.h>
#include <numeric>

#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/text_table.h"
#include "cli/verb.h"

#include "weft/base/file.h"
#include "weft/data/fetch.h"
#include "weft/market/points.h"
#include "weft/market/sampled_shapley.h"

namespace weft::cli {
namespace {

struct MarketValueArguments {
  std::string data;
  std::string folder;
  std::string method = "knn";
  std::int64_t rows = 0;
  std::int64_t test_rows = 1000;
  std::int64_t neighbours = 10;
  std::int64_t folds = 0;
  std::int64_t shards = 5;
  std::int64_t permutations = 100;
  double tolerance = 0;
  bool begins_at_zero = false;
  std::string out;
  bool as_json = false;
};

std::vector<std::int64_t> first_rows(const Dataset& data, std::int64_t most) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(
      most == 0 ? data.size() : std::min(most, data.size())));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  return rows;
}

std::vector<double> values_of(const MarketValueArguments& arguments,
                              const market::Points& train,
                              const market::Points& test) {
  const market::KnnShapleyOptions options{
      .neighbours = arguments.neighbours,
      .begins_at_zero = arguments.begins_at_zero};
  if (arguments.method == "knn") {
    return arguments.folds > 0
               ? market::cross_validated_knn_shapley(train.view(),
                                                     arguments.folds, options)
               : market::knn_shapley(train.view(), test.view(), options);
  }
  const market::Utility utility = [&](std::span<const std::int64_t> rows) {
    return market::knn_utility(train.view(), test.view(), rows,
                               arguments.neighbours);
  };
  const std::int64_t players = std::ssize(train.labels);
  if (arguments.method == "leave-one-out") {
    return market::leave_one_out(players, utility);
  }
  return market::sampled_shapley(players, utility,
                                 {.permutations = arguments.permutations,
                                  .tolerance = arguments.tolerance});
}

void write_values(const std::string& path, const std::vector<double>& values) {
  std::string text = "example,value\n";
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += fmt::format("{},{:.17g}\n", i, values[i]);
  }
  write_file(path, text);
}

// Rows in so many parts of consecutive ones, and what these are worth.
std::vector<double> shard_values(const std::vector<double>& values,
                                 std::int64_t shards) {
  std::vector<double> sums(static_cast<std::size_t>(shards));
  for (std::size_t i = 0; i < values.size(); ++i) {
    sums[i * sums.size() / values.size()] += values[i];
  }
  return sums;
}

void value_data(const MarketValueArguments& arguments) {
  const DatasetSplits splits =
      open_data({.name = arguments.data, .folder = arguments.folder});
  const market::Points train = market::points_of(
      *splits.train, first_rows(*splits.train, arguments.rows));
  const market::Points test = market::points_of(
      *splits.test, first_rows(*splits.test, arguments.test_rows));
  const auto begun = std::chrono::steady_clock::now();
  const std::vector<double> values = values_of(arguments, train, test);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun)
          .count();
  if (!arguments.out.empty()) write_values(arguments.out, values);
  const std::vector<double> shards =
      shard_values(values, std::min(arguments.shards, std::ssize(values)));
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  if (arguments.as_json) {
    return print_json({{"examples", values.size()},
                       {"test_examples", test.labels.size()},
                       {"seconds", seconds},
                       {"sum", sum},
                       {"shards", shards}});
  }
  std::vector<std::vector<std::string>> rows{{"shard", "value", "share"}};
  const double paid = std::accumulate(
      shards.begin(), shards.end(), 0.0,
      [](double total, double value) { return total + std::max(value, 0.0); });
  for (std::size_t i = 0; i < shards.size(); ++i) {
    rows.push_back(
        {std::to_string(i + 1), fmt::format("{:.6f}", shards[i]),
         paid > 0
             ? fmt::format("{:.1f} %", 100 * std::max(shards[i], 0.0) / paid)
             : "-"});
  }
  fmt::print("{}", text_table(rows, ">>>"));
  fmt::print("{} examples are worth {:.6f} together; {} to test with, {}\n",
             grouped(std::ssize(values)), sum, grouped(std::ssize(test.labels)),
             duration_text(seconds));
}

void add_market_value(CLI::App& verb) {
  auto arguments = std::make_shared<MarketValueArguments>();
  verb.add_option("DATA", arguments->data, "one of weft data list: adult")
      ->required();
  verb.add_option("--data", arguments->folder, "folder of the data")
      ->type_name("DIR");
  verb.add_option("--method", arguments->method,
                  "knn: exact; sampled: by permutations; leave-one-out; all of "
                  "a classifier by nearest neighbours")
      ->check(CLI::IsMember({"knn", "sampled", "leave-one-out"}))
      ->capture_default_str();
  verb.add_option("--rows", arguments->rows,
                  "the first so many examples to value; 0: all")
      ->check(CLI::NonNegativeNumber);
  verb.add_option("--test-rows", arguments->test_rows,
                  "the first so many examples to test with; 0: all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb.add_option("--neighbours", arguments->neighbours,
                  "that decide on a class")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb.add_option("--folds", arguments->folds,
                  "value the examples by each other, in so many folds, "
                  "instead of by the test part; 0: not")
      ->check(CLI::NonNegativeNumber);
  verb.add_option("--shards", arguments->shards,
                  "parts of consecutive examples to sum values over")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb.add_option("--permutations", arguments->permutations,
                  "that are drawn to sample")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb.add_option("--tolerance", arguments->tolerance,
                  "how near to the whole a sampled permutation ends; 0: never")
      ->check(CLI::NonNegativeNumber);
  verb.add_flag("--begin-at-zero", arguments->begins_at_zero,
                "the recursion of the paper's own program, whose values do not "
                "add up; to compare with it");
  verb.add_option("-o,--out", arguments->out,
                  "a CSV file of the value of each example");
  verb.add_flag("--json", arguments->as_json, "print one JSON object");
  verb.callback([arguments] { value_data(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_market_value(cli::VerbRegistry& verbs) {
  verbs.add({.name = "market value",
             .summary = "Say what each example of a data set is worth",
             .order = 80,
             .add = cli::add_market_value});
}

}  // namespace weft
