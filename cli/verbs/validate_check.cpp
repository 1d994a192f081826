// weft validate check DATA --schema FILE: whether data are as they must be.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/validation.h"
#include "cli/verb.h"

#include "weft/base/file.h"
#include "weft/validation/report_json.h"
#include "weft/validation/report_page.h"
#include "weft/validation/schema_text.h"

namespace weft::cli {
namespace {

constexpr const char* kValidateCheckFooter =
    "Exit codes: 0 no anomaly that is an error, 1 anomalies, 2 bad usage or "
    "input.\nweft validate accept writes the edits below the anomalies into "
    "the schema.";

struct ValidateCheckArguments {
  ValidateData data;
  ValidateAgainst against;
  std::string page;
  bool as_json = false;
};

// With what the data were compared with, if anything, behind them.
void write_page(const ValidateCheckArguments& arguments,
                const ValidateChecked& checked) {
  validation::ReportPage page{.title = arguments.data.rows.data,
                              .data = checked.data,
                              .report = &checked.report};
  if (checked.previous) {
    page.other = &*checked.previous;
    page.other_title = arguments.against.previous;
  } else if (checked.serving) {
    page.other = &*checked.serving;
    page.other_title = arguments.against.serving;
  }
  write_file(arguments.page, validation::html_of(page));
}

void validate_check(const ValidateCheckArguments& arguments) {
  const validation::Schema schema =
      validation::load_schema(arguments.against.schema);
  const ValidateChecked checked =
      check_data(arguments.data, schema, arguments.against);
  if (!arguments.page.empty()) write_page(arguments, checked);
  if (arguments.as_json) {
    print_json(validation::to_json(checked.report));
  } else {
    fmt::print(
        "{}{}{}: {} rows, {} anomalies\n", anomalies_text(checked.report),
        measurements_table(checked.report), printable(arguments.data.rows.data),
        grouped(static_cast<std::int64_t>(checked.data.rows)),
        checked.report.anomalies.size());
  }
  // What is wrong has been said.
  if (checked.report.has_errors()) throw Reported{ErrorCode::kNumeric};
}

void add_validate_check(CLI::App& verb) {
  auto arguments = std::make_shared<ValidateCheckArguments>();
  add_data_options(verb, arguments->data);
  add_schema_options(verb, arguments->against);
  verb.add_option("--html", arguments->page,
                  "a page for people, with the anomalies and a chart for each "
                  "feature")
      ->type_name("FILE");
  verb.add_flag("--json", arguments->as_json,
                "print one JSON object, and nothing else on standard output");
  verb.footer(kValidateCheckFooter);
  verb.callback([arguments] { validate_check(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_validate_check(cli::VerbRegistry& verbs) {
  verbs.add({.name = "validate check",
             .summary = "Hold data against a schema; the exit code tells",
             .add = cli::add_validate_check});
}

}  // namespace weft
