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

  // The transactions of one thread; other seeds choose other objects. A
  // transaction tries again with the same two until it is done.
  ArrayCounts run(std::uint64_t thread, std::uint64_t transactions,
                  std::uint64_t seed) {
    concurrent::Session<M> session(stm_, thread);
    concurrent::FastRandom random(seed, thread);
    for (std::uint64_t i = 0; i < transactions; ++i) {
      Cell& first = draw(random);
      Cell& second = draw(random);
      session.run(
          [&](concurrent::Transaction<M>& t) { add(t, first, second); });
    }
    return counts_of(session);
  }

  // The same, but that each attempt draws anew, as the expected number of
  // aborts supposes. `own_ns` is what a transaction takes beside its accesses
  // to shared memory, which simulated memories must be told.
  ArrayCounts run_drawing_anew(std::uint64_t thread, std::uint64_t transactions,
                               std::uint64_t seed, std::uint64_t own_ns = 0) {
    concurrent::Session<M> session(stm_, thread);
    concurrent::FastRandom random(seed, thread);
    for (std::uint64_t i = 0; i < transactions; ++i)
      session.run([&](concurrent::Transaction<M>& t) {
        M::compute(own_ns);
        Cell& first = draw(random);
        add(t, first, draw(random));
      });
    return counts_of(session);
  }

  std::uint64_t sum() const {
    std::uint64_t sum = 0;
    for (const auto& cell : cells_) sum += cell.unshared();
    return sum;
  }

 private:
  Cell& draw(concurrent::FastRandom& random) {
    return cells_[random.below(static_cast<std::uint32_t>(cells_.size()))];
  }
  static void add(concurrent::Transaction<M>& t, Cell& first, Cell& second) {
    t.write(first, t.read(first) + 1);
    t.write(second, t.read(second) + 1);
  }
  static ArrayCounts counts_of(const concurrent::Session<M>& session) {
    const concurrent::StmCounts counts = session.counts();
    return {counts.commits, counts.aborts(), counts.hardware};
  }

  concurrent::Stm<M> stm_;
  std::vector<Cell> cells_;
};

}  // namespace weft::bench
