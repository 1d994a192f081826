// A clock of the day that is set ahead or back while a program runs, as by a
// person, by a time server, or by a machine that wakes up elsewhere.
//
// Whatever asks the system for the time of day sees it: our code, libraries
// and gRPC. Steady clocks go on, as they do on a machine.
//
// Threads: any; jumps of the process are seen by all of its threads.
#pragma once

#include <chrono>

namespace weft::test {

// Until the end of its scope, for the whole process.
class ClockJump {
 public:
  explicit ClockJump(std::chrono::seconds by);
  ~ClockJump();
  ClockJump(const ClockJump&) = delete;
  ClockJump& operator=(const ClockJump&) = delete;

 private:
  std::chrono::seconds by_;
};

// From now on, for the thread that calls: as if each had a machine of its own.
void set_thread_clock_ahead(std::chrono::seconds by);

}  // namespace weft::test
