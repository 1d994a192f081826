// The settings that workloads have whose blocks arrive over time.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/privacy/workload.h"

namespace weft::privacy {

// What is not given is as published for Alibaba-DP (Tholoniat et al., 2025).
struct StreamingSettings {
  std::int64_t first_blocks = 100;
  std::int64_t more_blocks = 90;
};

// first_blocks, more_blocks, lifetime, steps, every.
std::vector<OptionSpec> streaming_options(const StreamingSettings& settings);
// A workload without tasks, by those options.
Workload streaming_workload(const Options& options);
// The time over which tasks arrive: until the last block is one old.
double streaming_time(const Options& options);

}  // namespace weft::privacy
