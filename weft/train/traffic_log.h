// What the network of the first worker did, step by step: one JSON object a
// line in traffic.jsonl.
//
// Threads: caller synchronises.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>

#include "weft/train/step/traffic.h"

namespace weft {

class TrafficMean {
 public:
  void add(const StepTraffic& step);
  StepTraffic mean() const;

 private:
  StepTraffic sum_;
  double steps_ = 0;
};

class TrafficLog {
 public:
  // Continues the file when `steps_done` is above 0, else begins it anew.
  // Throws Error(kUnavailable) when it cannot be written.
  TrafficLog(const std::filesystem::path& folder, std::int64_t steps_done);

  // Writes one line and flushes it. What cannot be written is left out without
  // an error.
  void add(std::int64_t step, const StepTraffic& traffic);

 private:
  std::ofstream file_;
};

}  // namespace weft
