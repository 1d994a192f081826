// weft gate init: draws a test set and begins.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/terminal.h"
#include "cli/verb.h"

#include "weft/gate/gate.h"

namespace weft::cli {
namespace {

struct GateInitArguments {
  std::string file;
  std::string old;
  bool replaces = false;
};

void gate_init(const GateInitArguments& arguments) {
  Gate gate(load_gate_file(arguments.file), LedgerMode::kCreate);
  gate.init(arguments.old, arguments.replaces);
  const GateLife& life = *gate.state().life;
  fmt::print("{}: test set {}, for {} verdicts\n", printable(gate.file().name),
             life.number, grouped(life.uses_left()));
}

void add_gate_init(CLI::App& verb) {
  auto arguments = std::make_shared<GateInitArguments>();
  verb.add_option("GATE", arguments->file, "a gate file")->required();
  verb.add_option("--old", arguments->old,
                  "the model that the first one is compared with: a trained "
                  "model, or a table of predictions");
  verb.add_flag("--replace", arguments->replaces,
                "begin with another test set although one is in use");
  verb.callback([arguments] { gate_init(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_gate_init(cli::VerbRegistry& verbs) {
  verbs.add({.name = "gate init",
             .summary = "Begin with a test set, or with the next one",
             .order = 20,
             .add = cli::add_gate_init});
}

}  // namespace weft
