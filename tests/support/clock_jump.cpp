#include "tests/support/clock_jump.h"

#include <atomic>
#include <cerrno>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace weft::test {
namespace {

std::atomic<std::int64_t> process_ahead{0};  // seconds
thread_local std::int64_t thread_ahead = 0;  // seconds

}  // namespace

ClockJump::ClockJump(std::chrono::seconds by) : by_(by) {
  process_ahead += by_.count();
}

ClockJump::~ClockJump() { process_ahead -= by_.count(); }

void set_thread_clock_ahead(std::chrono::seconds by) {
  thread_ahead = by.count();
}

}  // namespace weft::test

// In place of the C library's, also for the libraries of a test: what a program
// defines goes before what its libraries do.
extern "C" int clock_gettime(clockid_t clock, struct timespec* time) noexcept {
  const long result = syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) {
    time->tv_sec += weft::test::process_ahead + weft::test::thread_ahead;
  }
  return static_cast<int>(result);
}
