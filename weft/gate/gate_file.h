// A gate as its owner writes it down, in TOML:
//
//   [gate]
//   ledger = "books.db"
//   condition = 'n - o > 0.02 +/- 0.01 /\ d < 0.1 +/- 0.01'
//   reliability = 0.9999
//   recipe = "digits.toml"
//
// What counts is what `weft gate init` has put into the ledger: a gate file
// that was changed since is refused.
//
// Threads: value types; pure functions but for reading.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/option_schema.h"
#include "weft/gate/terms.h"

namespace weft {

// What the ledger keeps of a gate file. Paths are relative to its folder.
struct GateConfig {
  GateTerms terms;
  // The points: a table of ids, or a part of a recipe's data.
  std::string points;
  std::string recipe;
  std::string part = "test";
  // What the points must be (weft/validation), a file. Empty: whatever they
  // are.
  std::string schema = {};
  // Where labels come from, a call of weft/gate/labels: canonical.
  std::string labels;
  // A file that verdicts are added to in full, and a command that gets each as
  // its input: for those who may know. Empty: none.
  std::string results;
  std::vector<std::string> notify;

  bool operator==(const GateConfig&) const = default;
};

struct GateFile {
  std::filesystem::path path;
  std::string name;    // of the gate in its ledger
  std::string ledger;  // a path of its own, or postgresql://…
  std::filesystem::path key;
  GateConfig config;

  std::filesystem::path folder() const { return path.parent_path(); }
};

// The keys of [gate], for help.
std::vector<OptionSpec> gate_options();
// Terms that are no file's: `given` are keys of [gate], and the others have
// their defaults. Throws Error(kInvalidArgument) for what a file may not say
// either.
GateTerms gate_terms(const Options& given);

// Throws Error(kInvalidArgument) with the place for what is no gate file, with
// the condition's own place within it.
GateFile parse_gate_file(std::string_view text,
                         const std::filesystem::path& path);
GateFile load_gate_file(const std::filesystem::path& path);

// Canonical JSON, and back. Throws Error(kDataLoss) for what to_json() has not
// written.
std::string to_json(const GateConfig& config);
GateConfig gate_config_from_json(std::string_view text);

}  // namespace weft
