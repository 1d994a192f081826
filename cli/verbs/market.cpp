// weft market: what hangs below it.
#include <CLI/CLI.hpp>

#include "cli/verb.h"

namespace weft {

void register_verb_market(cli::VerbRegistry& verbs) {
  verbs.add({.name = "market",
             .summary = "Trade data and computation, for shares and dividends",
             .order = 64,
             .add = [](CLI::App& verb) { verb.require_subcommand(1); }});
}

}  // namespace weft
