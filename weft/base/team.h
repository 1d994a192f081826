// A team of threads that are all there at once, and meet at a barrier while
// they compute: what a loop over time needs, whose steps take a few
// microseconds. parallel_for (parallel.h) promises no such thing: there one
// thread may do all ranges in turn, and would wait for itself.
//
//   run_team(thread_count(), [&](TeamMember& self) {
//     for (int t = 0; t < steps; ++t) {
//       compute(t, self.rank(), self.count());
//       if (t + 1 < steps) self.meet();
//     }
//   });
//
// Threads are those of parallel.h. In weft_core, whose pool may have them at
// work for others, a team is its caller alone.
//
// Threads: run_team may be called from any thread; from inside of a team or of
// a parallel_for it is the caller alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace weft {

// Holds threads until `count` have come, again and again. They spin, as waking
// one takes longer than a step; where cores are fewer than threads they give
// theirs away after a while.
// Method: the sense of the barrier is reversed by each round (Mellor-Crummey
// and Scott, "Algorithms for scalable synchronization", 1991, algorithm 7).
class SpinBarrier {
 public:
  explicit SpinBarrier(int count) : count_(count), missing_(count) {}

  // `sense` is each thread's own, and begins as false. What was written before
  // by any of them is seen by all afterwards.
  void meet(bool& sense) noexcept;

 private:
  const int count_;
  // The last one to come writes a line that the others only read.
  alignas(64) std::atomic<int> missing_;
  alignas(64) std::atomic<bool> sense_ = false;
};

class TeamMember {
 public:
  TeamMember(int rank, int count, SpinBarrier& barrier)
      : rank_(rank), count_(count), barrier_(barrier) {}

  int rank() const { return rank_; }
  int count() const { return count_; }
  // Waits for all others. Each member has to call it equally often.
  void meet() noexcept {
    if (count_ > 1) barrier_.meet(sense_);
  }
  // This member's part of [0, size): parts differ by one at most.
  std::int64_t begin(std::int64_t size) const { return size * rank_ / count_; }
  std::int64_t end(std::int64_t size) const {
    return size * (rank_ + 1) / count_;
  }

 private:
  int rank_, count_;
  SpinBarrier& barrier_;
  bool sense_ = false;
};

namespace detail {
using TeamFunction = void (*)(void* body, TeamMember& self);
void run_team(int most, TeamFunction function, void* body);
}  // namespace detail

// Calls body(member) once on each thread of a team of at most `most` threads,
// and of thread_count(). The body must not throw. Allocates nothing.
template <class Body>
void run_team(int most, Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  detail::run_team(
      most,
      [](void* self, TeamMember& member) {
        (*static_cast<Plain*>(self))(member);
      },
      const_cast<void*>(static_cast<const void*>(std::addressof(body))));
}

}  // namespace weft
