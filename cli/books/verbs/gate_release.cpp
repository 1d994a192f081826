// weft gate release: gives a test set that is used up to developers.
#include <CLI/CLI.hpp>

#include "cli/verb.h"

#include "weft/base/file.h"
#include "weft/gate/gate.h"

namespace weft::cli {
namespace {

struct GateReleaseArguments {
  std::string file;
  std::string output;
};

void add_gate_release(CLI::App& verb) {
  auto arguments = std::make_shared<GateReleaseArguments>();
  verb.add_option("GATE", arguments->file, "a gate file")->required();
  verb.add_option("-o,--output", arguments->output,
                  "a table of its points with the labels that are known")
      ->type_name("FILE")
      ->required();
  verb.callback([arguments] {
    Gate gate(load_gate_file(arguments->file), LedgerMode::kOpen);
    write_file(arguments->output, gate.release());
  });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_gate_release(cli::VerbRegistry& verbs) {
  verbs.add({.name = "gate release",
             .summary = "Give a test set that is used up to developers",
             .order = 60,
             .add = cli::add_gate_release});
}

}  // namespace weft
