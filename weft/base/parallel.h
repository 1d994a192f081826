// The process's compute threads, in one place.
//
// They are OpenMP's (base/openmp), because the oneDNN that Debian ships
// computes on OpenMP's: a second pool beside it would fight it for the same
// cores. A thread that stands on the caller's core goes to another; none is
// bound. In weft_core, which has neither, they are a pool of its own
// (base/threads).
//
// Threads: parallel_for may be called from any thread; a call from inside a
// body runs serially.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace weft {

// The most threads that a parallel_for of the calling thread takes, the cores
// of the machine where nothing else was said: OpenMP reads OMP_NUM_THREADS. The
// number is each thread's own, so setting it does not change it for others;
// below 1 counts as 1.
int thread_count();
void set_thread_count(int count);

// What the calling thread prepares and computes while this lives is for it
// alone; libraries take as many threads as parallel_for would.
class OnOneThread {
 public:
  OnOneThread() : before_(thread_count()) { set_thread_count(1); }
  ~OnOneThread() { set_thread_count(before_); }
  OnOneThread(const OnOneThread&) = delete;
  OnOneThread& operator=(const OnOneThread&) = delete;

 private:
  int before_;
};

namespace detail {
using RangeFunction = void (*)(void* body, std::int64_t begin,
                               std::int64_t end);
void parallel_ranges(std::int64_t size, std::int64_t grain,
                     RangeFunction function, void* body);
}  // namespace detail

// Calls body(begin, end) on disjoint ranges that cover [0, size), at most one
// per thread and none shorter than `grain` unless there is only one.
// The body must not throw. Allocates nothing.
template <class Body>
void parallel_for(std::int64_t size, std::int64_t grain, Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  detail::parallel_ranges(
      size, grain,
      [](void* self, std::int64_t begin, std::int64_t end) {
        (*static_cast<Plain*>(self))(begin, end);
      },
      const_cast<void*>(static_cast<const void*>(std::addressof(body))));
}

}  // namespace weft
