// weft market, which weft-books holds.
#include "cli/books.h"
#include "cli/program_beside.h"

namespace weft {

void register_verb_market(cli::VerbRegistry& verbs) {
  verbs.add(cli::market_verb(
      [](CLI::App& verb) { cli::hand_over(verb, cli::kBooksProgram); }));
}

}  // namespace weft
