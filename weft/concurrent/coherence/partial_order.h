// Which steps of an execution had to come before which: those of one thread in
// their order, two that touch the same word of which one writes, and a change
// before the thread that waited for it. Steps that are not ordered so commute.
//
// Threads: caller synchronises.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "weft/concurrent/coherence/explorer.h"

namespace weft::concurrent {

// A set of threads.
using ThreadSet = std::uint32_t;
constexpr ThreadSet only(int thread) { return ThreadSet{1} << thread; }

// The memory that a step touches: units from `first` to `last`.
struct Footprint {
  std::uintptr_t first = 0;
  std::uintptr_t last = 0;
  bool writes = false;

  static Footprint everything() {
    return {.last = std::numeric_limits<std::uintptr_t>::max(), .writes = true};
  }
  bool is_everything() const {
    return last - first == std::numeric_limits<std::uintptr_t>::max();
  }

  bool commutes_with(const Footprint& other) const {
    return (!writes && !other.writes) || last < other.first ||
           other.last < first;
  }
};

class PartialOrder {
 public:
  void clear();

  // The next step of the execution. The result, until the next add(): earlier
  // steps of other threads that had to come before it for no other reason than
  // this word, so that the two could have come the other way round.
  const std::vector<int>& add(int thread, const Footprint& footprint);

  // `thread` could only go on because of a step.
  void wake(int thread, int step);

  // The threads that could take the first of the steps after `step` that need
  // not follow it, the last one included.
  ThreadSet initials(int step) const;

  int size() const { return static_cast<int>(steps_.size()); }

 private:
  // How many steps of each thread are in the past.
  using Clock = std::array<std::uint32_t, kMostExploredThreads>;

  struct Step {
    int thread = 0;
    Clock clock = {};
  };
  struct Word {
    int write = -1;          // the last one
    std::vector<int> reads;  // since
  };

  bool is_before(const Step& step, const Clock& clock) const {
    const auto thread = static_cast<std::size_t>(step.thread);
    return step.clock[thread] <= clock[thread];
  }
  void depend(int step, const Clock& before, Clock& clock);
  void use(Word& word, bool writes, const Clock& before, Clock& clock);
  void use_everything(const Clock& before, Clock& clock);

  std::vector<Step> steps_;
  std::array<Clock, kMostExploredThreads> threads_ = {};
  std::unordered_map<std::uintptr_t, Word> words_;
  int everything_ = -1;  // the last step that wrote it; older words are gone
  std::vector<int> races_;
};

}  // namespace weft::concurrent
