// weft gate submit: lets a model pass or fail; the exit code is the verdict.
#include <CLI/CLI.hpp>

#include "cli/books/gate_answer.h"
#include "cli/verb.h"

namespace weft::cli {
namespace {

struct GateSubmitArguments {
  std::string file;
  std::string model;
  double patience = 600;
};

void gate_submit(const GateSubmitArguments& arguments) {
  Gate gate(load_gate_file(arguments.file), LedgerMode::kOpen);
  tell_gate_answer(gate, gate.submit(arguments.model, arguments.patience));
}

void add_gate_submit(CLI::App& verb) {
  auto arguments = std::make_shared<GateSubmitArguments>();
  verb.add_option("GATE", arguments->file, "a gate file")->required();
  verb.add_option("MODEL", arguments->model,
                  "a trained model, or a table of predictions (.csv, .jsonl)")
      ->required();
  verb.add_option("--patience", arguments->patience,
                  "how long to wait for a model that is being judged")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e6));
  verb.footer(
      "Exit codes: 0 passed, or recorded where verdicts go to somebody else;\n"
      "1 failed, 2 refused, 3 waits for labels: ask again later.");
  verb.callback([arguments] { gate_submit(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_gate_submit(cli::VerbRegistry& verbs) {
  verbs.add({.name = "gate submit",
             .summary = "Let a model pass or fail",
             .order = 30,
             .add = cli::add_gate_submit});
}

}  // namespace weft
