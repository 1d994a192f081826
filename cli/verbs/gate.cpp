// weft gate, which weft-books holds.
#include "cli/books.h"
#include "cli/program_beside.h"

namespace weft {

void register_verb_gate(cli::VerbRegistry& verbs) {
  verbs.add(cli::gate_verb(
      [](CLI::App& verb) { cli::hand_over(verb, cli::kBooksProgram); }));
}

}  // namespace weft
