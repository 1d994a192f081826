// Who decides, in a simulation of lock-free SGD, which thread takes the next
// atomic step: a strong adaptive adversary, who sees all memory, all views and
// all samples that were drawn (scheduled_sgd.h).
//
// Each is one file of adversaries/, with a name and options.
//
// Threads: the caller's alone.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/option_schema.h"
#include "weft/base/registry.h"

namespace weft::concurrent {

// What a simulated thread does next.
enum class SgdPhase : std::uint8_t {
  kCounter,  // fetches the number of its iteration
  kRead,     // reads the next entries, of a block
  kCompute,  // computes its gradient, of the view that it has read
  kAdd,      // adds its change to the next entries
  kDone,     // there are no more iterations
};

struct ScheduledThread {
  SgdPhase phase = SgdPhase::kCounter;
  int epoch = 0;
  std::span<const double> x;  // the shared vector, of its epoch
  std::uint64_t iteration = 0;
  std::uint64_t sample = 0;
  std::span<const std::uint32_t> support;  // of the sample; empty: all entries
  std::size_t next = 0;         // of these, which is read or added to next
  std::vector<double> view;     // what it has read
  std::vector<double> changes;  // -rate times the gradient, from kAdd on
  // Iterations of all threads that had ended when it computed these.
  std::uint64_t computed_at = 0;

  // Whether its gradient is ready, and nothing of it is added yet.
  bool is_before_add() const { return phase == SgdPhase::kAdd && next == 0; }
  std::size_t entry(std::size_t k) const {
    return support.empty() ? k : support[k];
  }
};

struct ScheduleState {
  std::span<const ScheduledThread> threads;
  std::span<const double> optimum;
  std::size_t block = 1;    // entries of a step
  std::uint64_t ended = 0;  // iterations of all threads

  bool can_run(int thread) const {
    return threads[static_cast<std::size_t>(thread)].phase != SgdPhase::kDone;
  }
  int size() const { return static_cast<int>(threads.size()); }
};

class Adversary {
 public:
  Adversary() = default;
  virtual ~Adversary() = default;
  Adversary(const Adversary&) = delete;
  Adversary& operator=(const Adversary&) = delete;

  // A thread that can run; there is one.
  virtual int pick(const ScheduleState& state) = 0;
};

// Takes threads in turn.
class Turns {
 public:
  // The next that can run and that `may_go`; -1 for none.
  template <class MayGo>
  int next(const ScheduleState& state, const MayGo& may_go) {
    for (int i = 1; i <= state.size(); ++i) {
      const int thread = (last_ + i) % state.size();
      if (!state.can_run(thread) || !may_go(thread)) continue;
      last_ = thread;
      return thread;
    }
    return -1;
  }
  int next(const ScheduleState& state) {
    return next(state, [](int) { return true; });
  }

 private:
  int last_ = -1;
};

// Runs all threads in turn but those whose gradients it holds back, between
// computing and adding, for some iterations of others at the most. Where all
// are held, the one that has waited longest goes.
class HoldingAdversary : public Adversary {
 public:
  explicit HoldingAdversary(std::uint64_t delay) : delay_(delay) {}
  int pick(const ScheduleState& state) final;

 protected:
  // Asked of threads with is_before_add().
  virtual bool holds(const ScheduleState& state, int thread) = 0;

 private:
  std::uint64_t delay_;
  Turns turns_;
};

struct AdversaryDef {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options = {};
  std::unique_ptr<Adversary> (*make)(const Options& options,
                                     std::uint64_t seed) = nullptr;
};

using AdversaryRegistry = Registry<AdversaryDef>;

// Throws Error(kInvalidArgument) for an unknown name or option.
std::unique_ptr<Adversary> make_adversary(std::string_view name,
                                          const Options& options = {},
                                          std::uint64_t seed = 1);

// The option "delay" of those that hold gradients back.
OptionSpec delay_option();
std::uint64_t delay_of(const Options& options);

}  // namespace weft::concurrent

namespace weft {

// It is filled from the files of weft/concurrent/sgd/adversaries.
const concurrent::AdversaryRegistry& adversary_registry();

}  // namespace weft
