#include "weft/base/parallel.h"

#include <algorithm>
#include <omp.h>
#include <optional>

#include "weft/base/float_mode.h"
#include "weft/base/team.h"
#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace weft {

namespace {

// What comes before what in a team. GCC's OpenMP is not built for the thread
// sanitizer, which would take what its barriers keep apart for races.
class TeamOrder {
 public:
  // Whoever does something that the others of the team are to see says so.
  void done() {
#if defined(__SANITIZE_THREAD__)
    __tsan_release(this);
#endif
  }
  // Whoever is behind a barrier has seen it.
  void seen() {
#if defined(__SANITIZE_THREAD__)
    __tsan_acquire(this);
#endif
  }
};

// Now and then the system wakes a thread of a team on the caller's core and
// lets it stay: the two compute and sleep by turns, so that the system sees no
// core with two that want it, and each call takes half a millisecond. A thread
// that finds itself on the caller's core goes to another one. It is bound to
// none, as two processes would then share cores that they need not.
#if defined(__linux__)
int current_core() { return sched_getcpu(); }

void leave_core(int core, int threads) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  // Where threads are more than cores, some have to share one.
  if (CPU_COUNT(&allowed) < threads) return;
  cpu_set_t others = allowed;
  CPU_CLR(static_cast<std::size_t>(core), &others);
  if (sched_setaffinity(0, sizeof others, &others) == 0) {
    sched_setaffinity(0, sizeof allowed, &allowed);
  }
}
#else
int current_core() { return -1; }
void leave_core(int, int) {}
#endif

void leave_caller(int self, int caller, int threads) {
  if (self > 0 && caller >= 0 && current_core() == caller) {
    leave_core(caller, threads);
  }
}

}  // namespace

int thread_count() { return omp_get_max_threads(); }

void set_thread_count(int count) { omp_set_num_threads(std::max(1, count)); }

namespace detail {

void parallel_ranges(std::int64_t size, std::int64_t grain,
                     RangeFunction function, void* body) {
  if (size <= 0) return;
  const std::int64_t most =
      std::max<std::int64_t>(1, size / std::max<std::int64_t>(1, grain));
  const int threads = static_cast<int>(
      // A call from inside a body would ask for threads that are all at work.
      std::min<std::int64_t>(omp_in_parallel() ? 1 : thread_count(), most));
  // One range does not wake the other threads.
  if (threads == 1) {
    function(body, 0, size);
    return;
  }
  const int caller = current_core();
  const FloatMode mode = float_mode();
  TeamOrder order;
  order.done();
#pragma omp parallel num_threads(threads)
  {
    order.seen();
    const FloatModeScope as_caller(mode);
    const std::int64_t count = omp_get_num_threads();
    const std::int64_t self = omp_get_thread_num();
    leave_caller(omp_get_thread_num(), caller, threads);
    // The ranges differ by one element at most, and follow from size and count
    // alone.
    const std::int64_t begin = size * self / count;
    const std::int64_t end = size * (self + 1) / count;
    if (begin < end) function(body, begin, end);
    order.done();
  }
  order.seen();
}

void run_team(int most, TeamFunction function, void* body) {
  const int threads =
      std::max(1, omp_in_parallel() ? 1 : std::min(thread_count(), most));
  if (threads == 1) {
    SpinBarrier barrier(1);
    TeamMember alone(0, 1, barrier);
    function(body, alone);
    return;
  }
  const int caller = current_core();
  // The system may give fewer threads than were asked for: the first one that
  // is there says how many meet.
  std::optional<SpinBarrier> barrier;
  const FloatMode mode = float_mode();
  TeamOrder order;
  order.done();
#pragma omp parallel num_threads(threads)
  {
    order.seen();
    const FloatModeScope as_caller(mode);
#pragma omp single
    {
      barrier.emplace(omp_get_num_threads());
      order.done();
    }
    order.seen();
    leave_caller(omp_get_thread_num(), caller, threads);
    TeamMember self(omp_get_thread_num(), omp_get_num_threads(), *barrier);
    function(body, self);
    order.done();
  }
  order.seen();
}

}  // namespace detail
}  // namespace weft
