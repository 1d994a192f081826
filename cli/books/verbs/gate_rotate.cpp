// weft gate rotate: seals what a gate keeps with another key.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/verb.h"

#include "weft/gate/gate.h"

namespace weft::cli {
namespace {

struct GateRotateArguments {
  std::string file;
  std::string key;
};

void add_gate_rotate(CLI::App& verb) {
  auto arguments = std::make_shared<GateRotateArguments>();
  verb.add_option("GATE", arguments->file, "a gate file")->required();
  verb.add_option("KEY", arguments->key,
                  "the file of the new key, which the gate file names from "
                  "then on")
      ->required();
  verb.callback([arguments] {
    Gate gate(load_gate_file(arguments->file), LedgerMode::kOpen);
    const GateKey key = GateKey::load(arguments->key);
    gate.rotate(key);
    fmt::print("{}: sealed with key {}\n", gate.file().name, key.id());
  });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_gate_rotate(cli::VerbRegistry& verbs) {
  verbs.add({.name = "gate rotate",
             .summary = "Seal what is secret with another key",
             .order = 70,
             .add = cli::add_gate_rotate});
}

}  // namespace weft
