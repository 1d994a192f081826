// Seconds that have passed.
//
// Threads: reading is safe anywhere.
#pragma once

#include <chrono>

namespace weft {

// Runs from where it is made.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace weft
