// The benchmark of transactional memories: an array of objects, of which each
// transaction adds one to two at random. Once all have ended, the array's sum
// is twice the number of commits. A template over the memory, so that real and
// simulated cores run the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/error.h"
#include "weft/concurrent/stm/session.h"

namespace weft::bench {

struct ArrayCounts {
  std::uint64_t commits = 0;
  std::uint64_t aborts = 0;    // in software
  std::uint64_t hardware = 0;  // of the commits
};

inline concurrent::ClockKind clock_named(const std::string& name) {
  using concurrent::ClockKind;
  if (name == "gv1") return ClockKind::kGv1;
  if (name == "gv4") return ClockKind::kGv4;
  if (name == "gv5") return ClockKind::kGv5;
  if (name == "gv6") return ClockKind::kGv6;
  if (name == "relaxed" || name == "relaxed-probabilistic")
    return ClockKind::kRelaxed;
  throw Error(ErrorCode::kInvalidArgument, "array_updates",
              "no clock is called {}", name)
      .hint("gv1, gv4, gv5, gv6, relaxed, relaxed-probabilistic");
}

// 4 cells of the relaxed clock for each thread, and a delta of 10 times that.
// All in software.
inline concurrent::StmOptions options_for(const std::string& clock,
                                          std::uint32_t threads) {
  using concurrent::Validation;
  return {.clock = clock_named(clock),
          .validation = clock == "relaxed-probabilistic"
                            ? Validation::kProbabilistic
                            : Validation::kSafe,
          .clock_cells = 4 * threads,
          .hardware_attempts = 0};
}

template <concurrent::Memory M,
          class Cell = concurrent::LockedCell<std::uint64_t, M>>
class ArrayUpdates {
 public:
  ArrayUpdates(const concurrent::StmOptions& options, std::uint32_t objects)
      : stm_(options), cells_(objects) {}

  // Of one thread; other seeds choose other objects. `own_ns` is what a
  // transaction takes beside its accesses to shared memory, which simulated
  // memories must be told.
  ArrayCounts run(std::uint64_t thread, std::uint64_t transactions,
                  std::uint64_t seed, std::uint64_t own_ns = 0) {
    concurrent::Session<M> session(stm_, thread);
    concurrent::FastRandom random(seed, thread);
    const auto objects = static_cast<std::uint32_t>(cells_.size());
    for (std::uint64_t i = 0; i < transactions; ++i) {
      Cell& first = cells_[random.below(objects)];
      Cell& second = cells_[random.below(objects)];
      session.run([&](concurrent::Transaction<M>& t) {
        M::compute(own_ns);
        t.write(first, t.read(first) + 1);
        t.write(second, t.read(second) + 1);
      });
    }
    return {session.counts().commits, session.counts().aborts(),
            session.counts().hardware};
  }

  std::uint64_t sum() const {
    std::uint64_t sum = 0;
    for (const auto& cell : cells_) sum += cell.unshared();
    return sum;
  }

 private:
  concurrent::Stm<M> stm_;
  std::vector<Cell> cells_;
};

}  // namespace weft::bench
