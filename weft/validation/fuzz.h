// The model unit tester: does a program take every example that the schema of
// its data allows? What it cannot take is either a defect of the program or
// something that the schema fails to say (Breck et al., "Data validation for
// machine learning", MLSys 2019, section 3.3).
//
// Threads: thread-safe.
#pragma once

#include <functional>
#include <optional>

#include "weft/validation/examples.h"

namespace weft::validation {

struct FuzzOptions {
  std::size_t examples = 100;
  std::uint64_t seed = 1;
  std::string environment = {};
  ExampleFormat format = ExampleFormat::kJsonLines;
  // What is allowed in place of each finding is tried on, up to so many.
  std::size_t most_findings = 20;
};

struct FuzzFinding {
  std::string message;  // what the program said last
  Examples examples;    // as few and as plain as still fail
  std::string edit;     // of the schema, that excludes them; empty: none does
};

struct FuzzReport {
  std::vector<FuzzFinding> findings;
  std::size_t runs = 0;
  Schema tightened;  // with the edits of all findings
};

// What went wrong with these examples; nothing if all went well.
using FuzzProgram =
    std::function<std::optional<std::string>(const Examples& examples)>;

// Runs `program` on batches of examples: all of them, one alone, and none where
// the schema allows that. A failure is shrunk: to few rows, to features that
// are missing where they may be, to plain values elsewhere. The schema is then
// tightened by what the failure needs, and the search goes on. Throws as
// make_examples() does, and Error(kInvalidArgument) for fewer examples than the
// schema has rows at least.
FuzzReport fuzz(const Schema& schema, const FuzzOptions& options,
                const FuzzProgram& program);

}  // namespace weft::validation
