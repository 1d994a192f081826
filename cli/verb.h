// The verbs of the command line. A verb parses, calls the library and prints;
// it has no logic of its own.
//
// Results go to standard output, progress and notes to standard error.
//
// A new verb is one file in cli/verbs, of which `weft --help` and the table of
// README.md (tools/make_verbs_table.py) learn by themselves. Those of the gate
// and the market lie in cli/books/verbs: they are a program of their own,
// weft-books, to which `weft` hands them, so that who only trains need not
// build them.
//
// Threads: the registry is immutable.
#pragma once

#include <string>

#include "weft/base/error.h"
#include "weft/base/registry.h"

namespace CLI {
class App;
}

namespace weft::cli {

struct VerbDef {
  // "inspect", or "inspect codec" for what hangs below it.
  std::string name;
  std::string summary;
  // Those of lower order come first in the help, and those of one order by
  // name.
  int order = 1000;
  // Declares the options of `verb`, which outlives its callbacks, and what is
  // to be done: CLI11 calls it once the whole line is read.
  void (*add)(CLI::App& verb) = nullptr;
};

using VerbRegistry = Registry<VerbDef>;

// Ends the program with an exit code that is its answer, which it has printed.
struct AnsweredWith {
  int exit_code;
};

// Ends the program with an exit code of its own: another process has said why.
struct Reported {
  ErrorCode code;
};

}  // namespace weft::cli

namespace weft {

// It is filled from the files of cli/verbs, or cli/books/verbs in weft-books.
const cli::VerbRegistry& verb_registry();

}  // namespace weft
