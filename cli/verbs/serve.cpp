// weft serve MODEL…: models behind HTTP and gRPC. The server is a program of
// its own beside this one, since its packages are many.
#include "cli/program_beside.h"
#include "cli/verb.h"

namespace weft::cli {
namespace {

void add_serve(CLI::App& verb) {
  // What follows is the server's to read, --help too.
  verb.set_help_flag();
  verb.prefix_command();
  verb.callback([&verb] {
    std::vector<std::string> words = verb.remaining();
    words.insert(words.begin(), "serve");
    become("weft-serve", std::move(words),
           "in a clone bin/weft serve builds it, with the packages that it "
           "needs; a wheel has it that tools/wheel.sh made");
  });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_serve(cli::VerbRegistry& verbs) {
  verbs.add({.name = "serve",
             .summary = "Serve models over HTTP and gRPC",
             .order = 45,
             .add = cli::add_serve});
}

}  // namespace weft
