// weft validate stats DATA: what the data hold, in one pass.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/ranks.h"
#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/validation.h"
#include "cli/verb.h"

#include "weft/base/file.h"
#include "weft/comm/transport/engine.h"
#include "weft/comm/transport/local_ranks.h"
#include "weft/validation/reduction.h"
#include "weft/validation/report_json.h"
#include "weft/validation/report_page.h"

namespace weft::cli {
namespace {

struct ValidateStatsArguments {
  ValidateData data;
  std::vector<std::string> more;  // data, behind the first
  RankArguments ranks;
  std::string out;
  std::string page;
  bool as_json = false;
};

// What one of several ranks counts: every so manieth of the data.
validation::Statistics statistics_of_rank(
    const ValidateStatsArguments& arguments, int rank, int ranks) {
  std::vector<std::string> all = arguments.more;
  all.insert(all.begin(), arguments.data.rows.data);
  validation::Statistics statistics(arguments.data.options);
  for (auto i = static_cast<std::size_t>(rank); i < all.size();
       i += static_cast<std::size_t>(ranks)) {
    validation::RowRequest rows = arguments.data.rows;
    rows.data = all[i];
    statistics.merge(validation::statistics_of(rows, arguments.data.options));
  }
  return statistics;
}

// All ranks together; nothing on those of other processes than the first.
std::optional<validation::Statistics> count_together(
    const ValidateStatsArguments& arguments, const RankChoice& choice) {
  const std::unique_ptr<LocalRanks> ranks = open_ranks(choice);
  std::optional<validation::Statistics> all;
  ranks->run([&](Transport& transport) {
    Communicator communicator(transport);
    validation::Statistics own =
        statistics_of_rank(arguments, communicator.rank(), communicator.size());
    Engine engine(transport);
    engine.run(validation::reduce_statistics(
        communicator.open({"statistics", ""}), own));
    if (communicator.rank() == 0) all = std::move(own);
  });
  return all;
}

void validate_stats(const ValidateStatsArguments& arguments) {
  const RankChoice choice = choose_ranks(arguments.ranks);
  const std::optional<validation::Statistics> counted =
      choice.is_alone() ? statistics_of_rank(arguments, 0, 1)
                        : count_together(arguments, choice);
  if (!counted) return;  // the first process tells
  const validation::Statistics& statistics = *counted;
  if (!arguments.out.empty()) {
    write_file(arguments.out, statistics.to_bytes());
  }
  const validation::StatisticsSummary summary =
      validation::summarize(statistics);
  check_images_are_there(summary, arguments.data);
  if (!arguments.page.empty()) {
    write_file(arguments.page,
               validation::html_of(
                   {.title = arguments.data.rows.data, .data = summary}));
  }
  if (arguments.as_json) return print_json(validation::to_json(summary));
  fmt::print("{}: {} rows\n{}", printable(arguments.data.rows.data),
             grouped(static_cast<std::int64_t>(summary.rows)),
             statistics_table(summary));
  if (!summary.label.empty()) {
    fmt::print("\nwhat features say of {}:\n{}", printable(summary.label),
               associations_table(summary));
  }
  for (const auto& [key, slice] : summary.slices) {
    fmt::print("\n{}: {} rows\n{}", printable(key),
               grouped(static_cast<std::int64_t>(slice.rows)),
               statistics_table(slice));
  }
}

void add_validate_stats(CLI::App& verb) {
  auto arguments = std::make_shared<ValidateStatsArguments>();
  add_data_options(verb, arguments->data);
  add_image_option(verb, arguments->data);
  verb.add_option("--label", arguments->data.options.label,
                  "what each feature says of this one: mutual information, "
                  "and the values by which it is more or less frequent")
      ->type_name("FEATURE");
  verb.add_option("MORE", arguments->more, "further parts of the data");
  add_rank_options(verb, arguments->ranks,
                   "count the parts by as many workers, threads of this "
                   "process; mpirun and srun start them as processes");
  verb.add_option("-o,--out", arguments->out,
                  "keep the statistics, to be given in place of the data")
      ->type_name("FILE.stats");
  verb.add_option("--html", arguments->page,
                  "a page for people, with a chart for each feature")
      ->type_name("FILE");
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
