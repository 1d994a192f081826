// weft gate: what hangs below it.
#include <CLI/CLI.hpp>

#include "cli/books.h"

namespace weft {

void register_verb_gate(cli::VerbRegistry& verbs) {
  verbs.add(cli::gate_verb([](CLI::App& verb) { verb.require_subcommand(1); }));
}

}  // namespace weft
