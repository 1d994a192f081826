// weft validate: whether data are as they must be. What it does hangs below it.
#include <CLI/CLI.hpp>

#include "cli/verb.h"

namespace weft::cli {
namespace {

constexpr const char* kValidateFooter =
    R"text(DATA is a table (.csv), Parquet (.parquet, or a folder of such), an object a line
(.jsonl), the name of a data set, or statistics that were kept (.stats). A first
schema, and a check of other data:

  weft validate infer monday.csv -o clicks.toml
  weft validate check tuesday.csv --schema clicks.toml

docs/validation.md explains schemas, anomalies and distances.)text";

void add_validate(CLI::App& verb) {
  verb.require_subcommand(1);
  verb.footer(kValidateFooter);
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_validate(cli::VerbRegistry& verbs) {
  verbs.add({.name = "validate",
             .summary = "Say whether data are as they must be",
             .order = 45,
             .add = cli::add_validate});
}

}  // namespace weft
