// Epochs of lock-free SGD, each on a copy of the model of its own and at half
// of the rate of the one before (FullSGD; Alistarh, De Sa, Konstantinov, PODC
// 2018): it converges without anybody knowing how long the scheduler delays
// whom, as a thread that wakes in an old epoch writes to a copy that is
// abandoned.
//
//   const SgdRun run = run_full_sgd<float>(problem, x,
//       {.epoch = {.threads = 2, .iterations = 100000}, .epochs = 10});
//
// Threads do not meet between epochs: whoever finds an epoch's iterations all
// taken goes on to the next, and the first to come there makes its copy. In the
// last epoch threads keep sums of what they add; the result is that epoch's
// first point and all of these, which is well defined also where additions are
// lost.
//
// Threads: as in epoch_sgd.h. Memory: a vector for each epoch, and one for each
// thread.
#pragma once

#include <atomic>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "weft/concurrent/sgd/epoch_sgd.h"

namespace weft::concurrent {

struct FullSgdOptions {
  SgdOptions epoch;  // its rate is the first one's
  int epochs = 1;
};

template <class Number, Memory M = RealMemory>
class FullSgd {
 public:
  // Starts at `x`, which is copied.
  FullSgd(const SgdProblem<Number>& problem, std::span<const Number> x,
          const FullSgdOptions& options)
      : problem_(problem),
        options_(options),
        epochs_(
            static_cast<std::size_t>(options.epochs > 0 ? options.epochs : 0)),
        sums_(static_cast<std::size_t>(
            options.epoch.threads > 0 ? options.epoch.threads : 0)) {
    if (options.epochs < 1)
      throw Error(ErrorCode::kInvalidArgument, "sgd", "{} epochs",
                  options.epochs)
          .hint("there must be at least one");
    check(options.epoch);
    epochs_[0].store(new Epoch(*this, 0, {x.begin(), x.end()}));
  }
  ~FullSgd() {
    for (auto& epoch : epochs_) delete epoch.load();
  }

  void work(int thread) {
    for (std::size_t e = 0; e < epochs_.size(); ++e) {
      const bool is_last = e + 1 == epochs_.size();
      std::span<Number> sum;
      if (is_last) {
        auto& own = sums_[static_cast<std::size_t>(thread)];
        own.resize(problem_.dimensions());
        sum = own;
      }
      Epoch& epoch = enter(e);
      // What fails in one epoch must end all others. Either this thread sees
      // that one has failed, or whoever failed sees the epoch that it entered:
      // all four accesses are in one order.
      if (has_failed_->load(std::memory_order_seq_cst) != 0) return;
      try {
        epoch.sgd.work(thread, sum);
      } catch (...) {
        has_failed_->store(1, std::memory_order_seq_cst);
        for (auto& each : epochs_) {
          if (Epoch* entered = each.load(std::memory_order_seq_cst))
            entered->sgd.stop();
        }
        throw;
      }
    }
  }

  // Writes the result to `x`, and counts, when all have ended.
  SgdRun result(std::span<Number> x) const {
    const Epoch& last = *epochs_.back().load();
    std::copy(last.begin.begin(), last.begin.end(), x.begin());
    for (const auto& sum : sums_) {
      for (std::size_t i = 0; i < sum.size(); ++i) x[i] += sum[i];
    }
    SgdRun all;
    for (const auto& epoch : epochs_) {
      const SgdRun run = epoch.load()->sgd.result();
      all.iterations += run.iterations;
      all.changes += run.changes;
      all.rereads += run.rereads;
      all.trace.insert(all.trace.end(), run.trace.begin(), run.trace.end());
    }
    return all;
  }

 private:
  struct Epoch {
    Epoch(const FullSgd& full, std::size_t number, std::vector<Number> start)
        : begin(std::move(start)),
          x(begin),
          sgd(full.problem_, x, full.options_of(number)) {}

    std::vector<Number> begin;
    std::vector<Number> x;
    EpochSgd<Number, M> sgd;
  };

  SgdOptions options_of(std::size_t number) const {
    SgdOptions options = options_.epoch;
    options.first += number * options.iterations;
    options.rate = std::ldexp(options.rate, -static_cast<int>(number));
    // Delays are those of the first: later stamps would begin anew.
    if (number > 0) options.traced = 0;
    return options;
  }

  // The first thread that comes makes it; of several that come at once, one.
  Epoch& enter(std::size_t number) {
    Epoch* epoch = epochs_[number].load(std::memory_order_seq_cst);
    if (epoch != nullptr) return *epoch;
    std::vector<Number> start(problem_.dimensions());
    epochs_[number - 1]
        .load(std::memory_order_acquire)
        ->sgd.shared()
        .read(std::size_t{0}, std::span<Number>(start));
    auto made = std::make_unique<Epoch>(*this, number, std::move(start));
    if (epochs_[number].compare_exchange_strong(epoch, made.get(),
                                                std::memory_order_seq_cst))
      epoch = made.release();
    return *epoch;
  }

  template <class T>
  using Atomic = typename M::template Atomic<T>;

  const SgdProblem<Number>& problem_;
  FullSgdOptions options_;
  std::vector<Atomic<Epoch*>> epochs_;
  CacheAligned<Atomic<std::uint32_t>> has_failed_;
  std::vector<std::vector<Number>> sums_;
};

// As run_epoch_sgd(); replaces `x` by the result.
template <class Number>
SgdRun run_full_sgd(const SgdProblem<Number>& problem, std::span<Number> x,
                    const FullSgdOptions& options);

}  // namespace weft::concurrent
