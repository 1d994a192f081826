// weft market: what hangs below it.
#include <CLI/CLI.hpp>

#include "cli/books.h"

namespace weft {

void register_verb_market(cli::VerbRegistry& verbs) {
  verbs.add(
      cli::market_verb([](CLI::App& verb) { verb.require_subcommand(1); }));
}

}  // namespace weft
