// weft gate key: draws the key that labels are sealed with.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/verb.h"

#include "weft/gate/secret.h"

namespace weft::cli {
namespace {

void add_gate_key(CLI::App& verb) {
  auto file = std::make_shared<std::string>();
  verb.add_option("FILE", *file, "where none may be yet")->required();
  verb.callback([file] {
    const GateKey key = GateKey::make();
    key.save(*file);
    fmt::print("{}  key {}\n", *file, key.id());
  });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_gate_key(cli::VerbRegistry& verbs) {
  verbs.add({.name = "gate key",
             .summary = "Draw a key to seal labels with",
             .order = 15,
             .add = cli::add_gate_key});
}

}  // namespace weft
