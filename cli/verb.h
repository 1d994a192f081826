// The verbs of the command line, one file each. A verb parses, calls the
// library and prints; it has no logic of its own.
//
// Results go to standard output, progress and notes to standard error.
#pragma once

#include "weft/base/error.h"

namespace CLI {
class App;
}

namespace weft::cli {

// Ends the program with an exit code of its own: another process has said why.
struct Reported {
  ErrorCode code;
};

void add_train(CLI::App& app);
void add_eval(CLI::App& app);
void add_predict(CLI::App& app);
void add_run(CLI::App& app);
void add_inspect(CLI::App& app);
void add_data(CLI::App& app);
void add_doctor(CLI::App& app);
void add_ops(CLI::App& app);
void add_passes(CLI::App& app);
void add_solve(CLI::App& app);
void add_runs(CLI::App& app);

// What hangs below `weft inspect`.
void add_inspect_codec(CLI::App& verb);
void add_inspect_collective(CLI::App& verb);

}  // namespace weft::cli
