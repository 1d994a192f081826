// What a shell completes: verbs and their options, as the command line declares
// them, those of weft-books among them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

namespace weft::cli {

struct CompletedVerb {
  std::string name;                                          // "inspect codec"
  std::string summary;                                       // in one line
  std::vector<std::pair<std::string, std::string>> options;  // "--set", summary
};

// The verbs of `app` and what hangs below them.
std::vector<CompletedVerb> completed_verbs(const CLI::App& app);

// Prints them for listed_by(), a line each: a verb, then its options.
void print_completed(const std::vector<CompletedVerb>& verbs);

// What a program beside this one prints of its own verbs.
// Throws Error(kUnavailable) if it cannot be run.
std::vector<CompletedVerb> listed_by(const std::string& program);

}  // namespace weft::cli
