// weft budget: privacy budgets.
#include <CLI/CLI.hpp>

#include "cli/verb.h"

namespace weft::cli {
namespace {

void add_budget(CLI::App& verb) { verb.require_subcommand(1); }

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_budget(cli::VerbRegistry& verbs) {
  verbs.add({.name = "budget",
             .summary = "Count privacy, and say who may spend it",
             .order = 60,
             .add = cli::add_budget});
}

}  // namespace weft
