// weft gate labels: takes the labels that people have made, and judges the
// model that waits for them.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/books/gate_answer.h"
#include "cli/verb.h"

namespace weft::cli {
namespace {

void gate_labels(const std::string& file) {
  Gate gate(load_gate_file(file), LedgerMode::kOpen);
  if (const auto answer = gate.proceed()) {
    tell_gate_answer(gate, *answer);
  } else {
    fmt::print("no model waits for labels\n");
  }
}

void add_gate_labels(CLI::App& verb) {
  auto file = std::make_shared<std::string>();
  verb.add_option("GATE", *file, "a gate file")->required();
  verb.footer("Exit codes: those of weft gate submit.");
  verb.callback([file] { gate_labels(*file); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_gate_labels(cli::VerbRegistry& verbs) {
  verbs.add({.name = "gate labels",
             .summary = "Judge the model that waits for labels",
             .order = 40,
             .add = cli::add_gate_labels});
}

}  // namespace weft
