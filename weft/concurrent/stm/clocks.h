// The clocks that clock.h describes, and how one is made.
//
// Threads: see clock.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "weft/base/error.h"
#include "weft/concurrent/cache_line.h"
#include "weft/concurrent/counter/multi_counter.h"
#include "weft/concurrent/stm/clock.h"

namespace weft::concurrent {

// One word that all exact clocks keep.
template <Memory M>
class ExactClock : public Clock<M> {
 public:
  std::uint64_t now(FastRandom& /*random*/) final { return load(); }
  // Otherwise who only reads would never get past what runs ahead of the clock.
  void aborted(FastRandom& /*random*/, std::uint64_t newest_met,
               int /*times*/) final {
    raise_to(newest_met);
  }
  bool is_exact() const final { return true; }
  VersionSource<M> version_source(FastRandom& /*random*/) const final {
    return {&*time_};
  }

 protected:
  std::uint64_t load() const { return time_->load(std::memory_order_acquire); }

  // One attempt to add; where another was faster, its version is ours too.
  std::uint64_t add_or_adopt() {
    std::uint64_t seen = load();
    const std::uint64_t next = seen + 1;
    return time_->compare_exchange_strong(seen, next, std::memory_order_acq_rel)
               ? next
               : seen;
  }

  CacheAligned<typename M::template Atomic<std::uint64_t>> time_;

 private:
  void raise_to(std::uint64_t version) {
    std::uint64_t seen = load();
    while (seen < version && !time_->compare_exchange_weak(
                                 seen, version, std::memory_order_acq_rel)) {
    }
  }
};

template <Memory M>
class Gv1Clock final : public ExactClock<M> {
 public:
  Tick next(FastRandom& /*random*/, std::uint64_t began,
            std::uint64_t /*newest_held*/) override {
    const std::uint64_t version =
        this->time_->fetch_add(1, std::memory_order_acq_rel) + 1;
    return {version, version == began + 1};
  }
};

template <Memory M>
class Gv4Clock final : public ExactClock<M> {
 public:
  Tick next(FastRandom& /*random*/, std::uint64_t /*began*/,
            std::uint64_t /*newest_held*/) override {
    return {this->add_or_adopt()};
  }
};

// GV5, and GV6 where the clock itself moves once in `kEvery` commits. Versions
// run ahead of the clock, and a lock's own version may be the clock's next.
template <Memory M, bool kMovesSometimes>
class LazyClock final : public ExactClock<M> {
 public:
  Tick next(FastRandom& random, std::uint64_t /*began*/,
            std::uint64_t newest_held) override {
    std::uint64_t version = 0;
    if (kMovesSometimes && random.below(kEvery) == 0)
      version = this->add_or_adopt();
    else
      version = this->load() + 1;
    return {std::max(version, newest_held + 1)};
  }

 private:
  static constexpr std::uint32_t kEvery = 32;
};

template <Memory M>
class RelaxedClock final : public Clock<M> {
 public:
  RelaxedClock(std::uint32_t cells, std::uint64_t delta)
      : counter_(cells), delta_(delta) {}

  std::uint64_t now(FastRandom& random) override {
    return counter_.read(random);
  }
  Tick next(FastRandom& random, std::uint64_t /*began*/,
            std::uint64_t newest_held) override {
    const std::uint64_t sample = counter_.increment(random);
    // One more, so that versions of a lock grow with any delta.
    return {std::max(sample + delta_,
                     newest_held + std::max<std::uint64_t>(delta_, 1))};
  }
  // Versions lie `delta` ahead of the count, which only commits and aborts
  // move: if all threads aborted and none moved it, none could ever read the
  // newest words. A transaction that aborts repeatedly needs such a word, so it
  // moves the count twice as far each time, at most by delta + 1.
  void aborted(FastRandom& random, std::uint64_t /*newest_met*/,
               int times) override {
    const std::uint64_t pushes = std::uint64_t{1}
                                 << std::clamp(times - 2, 0, 32);
    for (std::uint64_t i = 0; i < std::min(pushes, delta_ + 1); ++i)
      counter_.increment(random);
  }
  bool is_exact() const override { return false; }
  VersionSource<M> version_source(FastRandom& random) const override {
    return {&counter_.cell(random.below(counter_.cells())), counter_.cells(),
            delta_};
  }

 private:
  MultiCounter<M> counter_;
  std::uint64_t delta_;
};

// `cells` and `delta` are the relaxed clock's. Throws Error(kInvalidArgument)
// for a kind that is none.
template <Memory M>
std::unique_ptr<Clock<M>> make_clock(ClockKind kind, std::uint32_t cells,
                                     std::uint64_t delta) {
  switch (kind) {
    case ClockKind::kGv1:
      return std::make_unique<Gv1Clock<M>>();
    case ClockKind::kGv4:
      return std::make_unique<Gv4Clock<M>>();
    case ClockKind::kGv5:
      return std::make_unique<LazyClock<M, false>>();
    case ClockKind::kGv6:
      return std::make_unique<LazyClock<M, true>>();
    case ClockKind::kRelaxed:
      return std::make_unique<RelaxedClock<M>>(cells, delta);
  }
  throw Error(ErrorCode::kInvalidArgument, "make_clock", "no clock of kind {}",
              static_cast<int>(kind));
}

}  // namespace weft::concurrent
