// Knuth's shuffle: for i = 0, 1, …, n-1, cell i swaps with cell target[i] <= i.
// Task i waits for the last earlier one that touched cell target[i]; cell i
// itself nobody has touched before. So each task waits for one other at most.
//
// Threads: see problem.h. The order is 0, 1, …: there is nothing to rename.
// Source: Shun, Gu, Blelloch, Fineman, Gibbons, "Sequential random permutation,
// list contraction and tree contraction are highly parallel", SODA 2015.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/philox.h"
#include "weft/concurrent/iterative/problem.h"
#include "weft/concurrent/memory.h"

namespace weft::concurrent {

// target[i] uniform in 0 … i, a function of (seed, i) alone; biased by at most
// size / 2^64.
inline std::vector<Task> shuffle_targets(Task size, std::uint64_t seed) {
  constexpr std::uint32_t kShuffleStream = 0x73687566;  // "shuf"
  const RandomStream random{seed, kShuffleStream, 0};
  std::vector<Task> targets(size);
  for (Task i = 0; i < size; ++i) {
    const PhiloxBlock block = random.block(i);
    const std::uint64_t bound = std::uint64_t{i} + 1;
    // The upper 32 bits of (64 random bits) x bound / 2^32.
    const std::uint64_t low = block[1] * bound >> 32U;
    targets[i] = static_cast<Task>((block[0] * bound + low) >> 32U);
  }
  return targets;
}

template <Memory M = RealMemory>
class Shuffle {
 public:
  using MemoryType = M;

  // Throws Error(kInvalidArgument) unless target[i] <= i for all i.
  explicit Shuffle(std::span<const Task> targets)
      : targets_(targets.begin(), targets.end()),
        waits_for_(targets.size()),
        done_(targets.size()),
        cells_(targets.size()) {
    std::iota(cells_.begin(), cells_.end(), 0);
    std::vector<Task> last_at = cells_;  // the task that touched a cell last
    for (Task i = 0; i < tasks(); ++i) {
      if (targets_[i] > i)
        throw Error(ErrorCode::kInvalidArgument, "Shuffle",
                    "target {} of cell {}", targets_[i], i)
            .hint("a cell swaps with itself or an earlier one");
      waits_for_[i] = std::exchange(last_at[targets_[i]], i);
    }
  }

  Task tasks() const { return static_cast<Task>(targets_.size()); }

  Outcome attempt(Task i, int /*thread*/) noexcept {
    const Task earlier = waits_for_[i];
    if (earlier != i && done_[earlier].load(std::memory_order_acquire) == 0)
      return Outcome::kBlocked;
    std::swap(cells_[i], cells_[targets_[i]]);
    M::touch(&cells_[targets_[i]], sizeof(Task), Access::kWrite);
    done_[i].store(1, std::memory_order_release);
    return Outcome::kProcessed;
  }

  // The permutation: which of 0 … n-1 lies in each cell. After the run.
  const std::vector<Task>& cells() const { return cells_; }

 private:
  std::vector<Task> targets_;
  std::vector<Task> waits_for_;  // itself: nobody
  std::vector<typename M::template Atomic<std::uint8_t>> done_;
  std::vector<Task> cells_;
};

}  // namespace weft::concurrent
