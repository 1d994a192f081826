// weft gate status: what developers may know of a gate; with --details, all
// that was counted, for whoever has the key.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/terminal.h"
#include "cli/verb.h"

#include "weft/gate/gate.h"
#include "weft/gate/gate_view.h"

namespace weft::cli {
namespace {

struct GateStatusArguments {
  std::string file;
  bool with_details = false;
  bool as_json = false;
};

void print_gate_status(const Gate& gate, const GateLife& life) {
  fmt::print("{}: {}\n", printable(gate.file().name),
             to_string(life.config.terms.condition));
  fmt::print("test set {}, ", life.number);
  if (life.end == GateEnd::kNot) {
    fmt::print("{} of {} uses left\n", grouped(life.uses_left()),
               grouped(life.config.terms.steps));
  } else {
    fmt::print("used up ({}){}\n", to_string(life.end),
               life.is_released ? ", released" : "");
  }
  for (const GateSubmission& submission : life.submissions) {
    fmt::print("  {:<8}  {}\n", verdict_word(submission),
               printable(submission.name));
  }
}

void gate_status(const GateStatusArguments& arguments) {
  Gate gate(load_gate_file(arguments.file), LedgerMode::kOpen);
  if (arguments.with_details) {
    for (const std::string& details : gate.details()) {
      fmt::print("{}\n", details);
    }
    return;
  }
  const GateState& state = gate.state();
  if (!state.life) {
    throw Error(ErrorCode::kUnavailable, arguments.file,
                "the gate has no test set yet")
        .hint("weft gate init begins with one");
  }
  if (arguments.as_json) {
    fmt::print("{}\n", status_json(gate.file().name, *state.life));
  } else {
    print_gate_status(gate, *state.life);
  }
}

void add_gate_status(CLI::App& verb) {
  auto arguments = std::make_shared<GateStatusArguments>();
  verb.add_option("GATE", arguments->file, "a gate file")->required();
  verb.add_flag("--details", arguments->with_details,
                "print what was counted for each verdict, an object a line; "
                "takes the gate's key");
  verb.add_flag("--json", arguments->as_json, "print one JSON object");
  verb.callback([arguments] { gate_status(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_gate_status(cli::VerbRegistry& verbs) {
  verbs.add({.name = "gate status",
             .summary = "Say what was submitted, and what is left",
             .order = 50,
             .add = cli::add_gate_status});
}

}  // namespace weft
