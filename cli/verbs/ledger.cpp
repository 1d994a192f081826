// weft ledger: what hangs below it.
#include <CLI/CLI.hpp>

#include "cli/verb.h"

namespace weft {

void register_verb_ledger(cli::VerbRegistry& verbs) {
  verbs.add({.name = "ledger",
             .summary = "Look at books, check them and keep copies",
             .order = 60,
             .add = [](CLI::App& verb) { verb.require_subcommand(1); }});
}

}  // namespace weft
