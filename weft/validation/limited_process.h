// Runs a program that may hang, crash or take all memory.
//
// Threads: thread-safe.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "weft/base/error.h"

namespace weft::validation {

struct ProcessLimits {
  std::chrono::milliseconds time = std::chrono::seconds(30);
  std::size_t memory_bytes = std::size_t{8} << 30;
};

struct LimitedResult {
  int exit_code = 0;  // 128 + the signal if one has ended it
  bool is_out_of_time = false;
  std::string output;  // the last 4 KiB of what it wrote
};

// Runs command[0], looked up on the PATH, with the rest as its arguments, in a
// process group of its own without input, and ends all of the group when the
// time is over. Throws Error(kUnavailable) where there is no such program.
LimitedResult run_limited(const std::vector<std::string>& command,
                          const ProcessLimits& limits);

}  // namespace weft::validation
