// The compute threads of weft_core: one pool of the process.
//
// Ranges follow from the size and the number of threads alone, as OpenMP's team
// cuts them, and whoever is free takes the next: the caller always works along,
// so that a call ends also where all threads are busy with others, or where the
// system gives none.
#include "weft/base/parallel.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "weft/base/float_mode.h"
#include "weft/base/team.h"

namespace weft {

namespace {

// 0 until the thread was told its number.
thread_local int wanted_threads = 0;
thread_local bool is_in_parallel = false;

// One call: it lies on its caller's stack, and waits in the pool's list while
// there are ranges that nobody has taken.
struct Job {
  detail::RangeFunction function;
  void* body;
  std::int64_t size;
  std::int64_t count;  // of ranges
  FloatMode mode = float_mode();
  std::int64_t taken = 0;
  std::int64_t done = 0;
  Job* next = nullptr;

  void run(std::int64_t range) const {
    const FloatModeScope as_caller(mode);
    const bool before = std::exchange(is_in_parallel, true);
    function(body, size * range / count, size * (range + 1) / count);
    is_in_parallel = before;
  }
};

class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    {
      const std::scoped_lock lock(mutex_);
      is_ending_ = true;
    }
    is_open_.notify_all();
    for (std::thread& each : threads_) each.join();
  }

  void run(Job& job) {
    std::unique_lock lock(mutex_);
    // Threads start when a call first wants them.
    while (std::ssize(threads_) < job.count - 1 && can_start_) start();
    job.next = std::exchange(open_, &job);
    is_open_.notify_all();
    while (job.taken < job.count) work(job, lock);
    is_done_.wait(lock, [&] { return job.done == job.count; });
  }

 private:
  void start() {
    try {
      threads_.emplace_back([this] { serve(); });
    } catch (const std::system_error&) {
      // A browser without shared memory has no threads to give: those that are
      // there do all.
      can_start_ = false;
    }
  }

  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      is_open_.wait(lock, [&] { return is_ending_ || open_ != nullptr; });
      if (is_ending_) return;
      work(*open_, lock);
    }
  }

  // Computes one range of the job, which has one left.
  void work(Job& job, std::unique_lock<std::mutex>& lock) {
    const std::int64_t range = job.taken++;
    if (job.taken == job.count) remove(job);
    lock.unlock();
    job.run(range);
    lock.lock();
    // Its caller may return as soon as the last range is counted.
    if (++job.done == job.count) is_done_.notify_all();
  }

  void remove(const Job& job) {
    Job** at = &open_;
    while (*at != &job) at = &(*at)->next;
    *at = job.next;
  }

  std::mutex mutex_;
  std::condition_variable is_open_;  // a job has ranges left
  std::condition_variable is_done_;  // a job has none that is computed still
  Job* open_ = nullptr;
  bool can_start_ = true;
  bool is_ending_ = false;
  std::vector<std::thread> threads_;
};

Pool& pool() {
  static Pool only;
  return only;
}

}  // namespace

int thread_count() {
  if (wanted_threads > 0) return wanted_threads;
  // It says 0 where it does not know.
  static const int cores =
      std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return cores;
}

void set_thread_count(int count) { wanted_threads = std::max(1, count); }

namespace detail {

void parallel_ranges(std::int64_t size, std::int64_t grain,
                     RangeFunction function, void* body) {
  if (size <= 0) return;
  const std::int64_t most =
      std::max<std::int64_t>(1, size / std::max<std::int64_t>(1, grain));
  const std::int64_t count =
      std::min<std::int64_t>(is_in_parallel ? 1 : thread_count(), most);
  if (count == 1) {
    function(body, 0, size);
    return;
  }
  Job job{function, body, size, count};
  pool().run(job);
}

// The pool's threads come when they are free, which may be never while their
// callers wait for each other.
void run_team(int, TeamFunction function, void* body) {
  SpinBarrier barrier(1);
  TeamMember alone(0, 1, barrier);
  function(body, alone);
}

}  // namespace detail
}  // namespace weft
