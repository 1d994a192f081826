// Runs another program and waits for it.
//
// Threads: thread-safe.
#pragma once

#include <string>
#include <vector>

#include "weft/base/error.h"

namespace weft {

struct ProcessResult {
  int exit_code = 0;    // 128 + the signal if it was killed by one
  std::string errors;   // the last 4 KiB of its standard error, trimmed
};

// Runs command[0], looked up on the PATH, with the rest as its arguments: no
// shell, no input, no output but the errors.
// Throws Error(kUnavailable) if there is no such program.
ProcessResult run_process(const std::vector<std::string>& command);

}  // namespace weft
