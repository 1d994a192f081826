// weft validate examples DATA --schema FILE: which rows are not as they must
// be.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/validation.h"
#include "cli/verb.h"

#include "weft/validation/example_check.h"
#include "weft/validation/report_json.h"
#include "weft/validation/schema_text.h"

namespace weft::cli {
namespace {

struct ValidateExamplesArguments {
  ValidateData data;
  std::string schema;
  validation::ExampleCheckOptions options;
  bool as_json = false;
};

void validate_examples(const ValidateExamplesArguments& arguments) {
  const validation::Schema schema = validation::load_schema(arguments.schema);
  const auto rows = validation::open_rows(arguments.data.rows);
  const auto found = check_examples(schema, *rows, arguments.options);
  Json all = Json::array();
  for (const auto& [place, struck] : found) {
    const auto& [feature, kind] = place;
    if (arguments.as_json) {
      all.push_back(
          {{"feature", feature},
           {"kind", kind},
           {"rows", struck.count},
           {"first", struck.first},
           {"statistics", validation::to_json(summarize(struck.statistics))}});
      continue;
    }
    fmt::print("{} ({}): {} rows: {}{}\n", printable(feature), kind,
               grouped(static_cast<std::int64_t>(struck.count)),
               fmt::join(struck.first, ", "),
               struck.count > struck.first.size() ? ", …" : "");
  }
  if (arguments.as_json) {
    print_json({{"struck", std::move(all)}});
  } else if (found.empty()) {
    fmt::print("all rows are as the schema says\n");
  }
  if (!found.empty()) throw Reported{ErrorCode::kNumeric};
}

void add_validate_examples(CLI::App& verb) {
  auto arguments = std::make_shared<ValidateExamplesArguments>();
  add_data_options(verb, arguments->data);
  verb.add_option("--schema", arguments->schema, "what each row must be")
      ->required()
      ->type_name("FILE");
  verb.add_option("--environment", arguments->options.environment,
                  "where the data are from")
      ->type_name("NAME");
  verb.add_option("--rows", arguments->options.most_rows,
                  "how many are named of each kind")
      ->capture_default_str();
  verb.add_flag("--json", arguments->as_json,
                "print one JSON object, with the statistics of the rows that "
                "each kind strikes, and nothing else on standard output");
  verb.callback([arguments] { validate_examples(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_validate_examples(cli::VerbRegistry& verbs) {
  verbs.add({.name = "validate examples",
             .summary = "Name the rows that a schema does not allow",
             .add = cli::add_validate_examples});
}

}  // namespace weft
