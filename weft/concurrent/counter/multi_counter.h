// A counter that many threads increase without waiting for each other, and
// whose reads are a little wrong.
//
//   MultiCounter<> samples(8 * threads);
//   FastRandom random(seed, thread);   // one per thread
//   samples.increment(random);
//   samples.read(random);              // off by O(m log m), for ever
//   samples.exact();                   // once all threads have ended
//
// The count is spread over m cells. An increment looks at two random cells and
// adds to the one that held less; a read multiplies a random cell by m. Two
// looks keep the cells within O(log m) of each other however many increments
// there have been, also when what was seen is no longer true. With one look the
// gap grows with the square root of the count: that is what OneChoiceCounter is
// there to show.
//
// The mean of the read error is below m for one thread and about twice that
// with 4 m stale operations at a time; 12 m has not been seen. Choose m between
// 2 and 8 times the number of threads.
//
// Never where a count must be exact while threads run (budgets, identifiers).
//
// Where: Alistarh, Brown, Kopinsky, Li, Nadiradze, "Distributionally
// Linearizable Data Structures", SPAA 2018.
//
// Errors: Error(kInvalidArgument) for a bad number of cells or weight,
// Error(kExhausted) where a read would pass 2^63.
// Threads: all at once, except where a comment says otherwise.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/error.h"
#include "weft/concurrent/cache_line.h"
#include "weft/concurrent/memory.h"
#include "weft/concurrent/random.h"

namespace weft::concurrent {

template <Memory M = RealMemory, int kChoices = 2>
class MultiCounter {
  static_assert(kChoices == 1 || kChoices == 2);

 public:
  static constexpr std::uint32_t kMostCells = 1U << 20U;
  static constexpr std::uint32_t kMostWeight = 1U << 30U;

  // Goes on from `total`, spread evenly.
  explicit MultiCounter(std::uint32_t cells, std::uint64_t total = 0)
      : cells_(checked(cells)), limit_((kMostCount / cells) - kSlack) {
    for (std::uint32_t i = 0; i < cells; ++i)
      cells_[i]->store(total / cells + (i < total % cells ? 1 : 0),
                       std::memory_order_relaxed);
  }

  // All return what a read of the cell would have given just after.
  std::uint64_t increment(FastRandom& random) { return add_to(random, 1); }

  // The guarantee is about weights that do not differ by much.
  std::uint64_t add(FastRandom& random, std::uint32_t weight) {
    if (weight > kMostWeight)
      throw Error(ErrorCode::kInvalidArgument, "MultiCounter",
                  "a weight of {} is above {}", weight, kMostWeight);
    return add_to(random, weight);
  }

  std::uint64_t read(FastRandom& random) const {
    return cells() *
           cell(random.below(cells())).load(std::memory_order_acquire);
  }

  // The sum of all cells: the count, where nobody adds meanwhile.
  std::uint64_t exact() const {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < cells(); ++i) sum += value(i);
    return sum;
  }

  // The largest cell less the smallest.
  std::uint64_t gap() const {
    std::uint64_t lowest = value(0);
    std::uint64_t highest = lowest;
    for (std::uint32_t i = 1; i < cells(); ++i) {
      lowest = std::min(lowest, value(i));
      highest = std::max(highest, value(i));
    }
    return highest - lowest;
  }

  std::uint32_t cells() const {
    return static_cast<std::uint32_t>(cells_.size());
  }
  std::uint64_t value(std::uint32_t i) const {
    return cell(i).load(std::memory_order_relaxed);
  }
  // This is for a caller that looks at one cell many times: cells() times its
  // value is a read.
  const auto& cell(std::uint32_t i) const { return *cells_[i]; }

 private:
  using Atomic = typename M::template Atomic<std::uint64_t>;

  static constexpr std::uint64_t kMostCount = (std::uint64_t{1} << 63U) - 1;
  // A cell may pass its limit by what a thousand threads add that have all seen
  // it just below.
  static constexpr std::uint64_t kSlack = std::uint64_t{kMostWeight} << 10U;

  static std::uint32_t checked(std::uint32_t cells) {
    if (cells == 0 || cells > kMostCells)
      throw Error(ErrorCode::kInvalidArgument, "MultiCounter",
                  "{} cells, not 1 to {}", cells, kMostCells)
          .hint("take 2 to 8 cells for each thread");
    return cells;
  }

  std::uint64_t add_to(FastRandom& random, std::uint64_t weight) {
    std::uint32_t chosen = random.below(cells());
    std::uint64_t seen = value(chosen);
    if constexpr (kChoices == 2) {
      const std::uint32_t other = random.below(cells());
      const std::uint64_t seen_there = value(other);
      if (seen_there < seen) {
        chosen = other;
        seen = seen_there;
      }
    }
    // It is refused before the addition: the limit leaves room for all that
    // look at once.
    if (seen > limit_) [[unlikely]]
      throw Error(ErrorCode::kExhausted, "MultiCounter",
                  "a cell holds {}: reads would pass 2^63", seen);
    const std::uint64_t before =
        cells_[chosen]->fetch_add(weight, std::memory_order_acq_rel);
    return cells() * (before + weight);
  }

  std::vector<CacheAligned<Atomic>> cells_;
  std::uint64_t limit_;  // above which a cell takes no more
};

template <Memory M = RealMemory>
using OneChoiceCounter = MultiCounter<M, 1>;

}  // namespace weft::concurrent
