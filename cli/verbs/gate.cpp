// weft gate: what hangs below it.
#include <CLI/CLI.hpp>

#include "cli/verb.h"

namespace weft {

void register_verb_gate(cli::VerbRegistry& verbs) {
  verbs.add({.name = "gate",
             .summary = "Let only better models pass, provably",
             .order = 62,
             .add = [](CLI::App& verb) { verb.require_subcommand(1); }});
}

}  // namespace weft
