// weft validate stats DATA: what the data hold, in one pass.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/validation.h"
#include "cli/verb.h"

#include "weft/base/file.h"
#include "weft/validation/report_json.h"

namespace weft::cli {
namespace {

struct ValidateStatsArguments {
  ValidateData data;
  std::string out;
  bool as_json = false;
};

void validate_stats(const ValidateStatsArguments& arguments) {
  const validation::Statistics statistics =
      validation::statistics_of(arguments.data.rows, arguments.data.options);
  if (!arguments.out.empty()) {
    write_file(arguments.out, statistics.to_bytes());
  }
  const validation::StatisticsSummary summary =
      validation::summarize(statistics);
  if (arguments.as_json) return print_json(validation::to_json(summary));
  fmt::print("{}: {} rows\n{}", printable(arguments.data.rows.data),
             grouped(static_cast<std::int64_t>(summary.rows)),
             statistics_table(summary));
  for (const auto& [key, slice] : summary.slices) {
    fmt::print("\n{}: {} rows\n{}", printable(key),
               grouped(static_cast<std::int64_t>(slice.rows)),
               statistics_table(slice));
  }
}

void add_validate_stats(CLI::App& verb) {
  auto arguments = std::make_shared<ValidateStatsArguments>();
  add_data_options(verb, arguments->data);
  verb.add_option("-o,--out", arguments->out,
                  "keep the statistics, to be given in place of the data")
      ->type_name("FILE.stats");
  verb.add_flag("--json", arguments->as_json,
                "print one JSON object, and nothing else on standard output");
  verb.callback([arguments] { validate_stats(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_validate_stats(cli::VerbRegistry& verbs) {
  verbs.add({.name = "validate stats",
             .summary = "Count what data hold, in one pass",
             .add = cli::add_validate_stats});
}

}  // namespace weft
