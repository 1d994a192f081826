#include "weft/concurrent/sgd/scheduled_sgd.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "weft/base/error.h"

namespace weft::concurrent {
namespace {

class Schedule {
 public:
  Schedule(const SgdProblem<double>& problem, Adversary& adversary,
           const ScheduleOptions& options, std::vector<double> start,
           std::span<const double> optimum)
      : problem_(problem),
        adversary_(adversary),
        options_(options),
        optimum_(optimum),
        threads_(static_cast<std::size_t>(options.threads)),
        places_(threads_.size()),
        starts_(threads_.size()) {
    // Threads look into these, so that they must not move.
    epochs_.reserve(static_cast<std::size_t>(options.epochs));
    begin_epoch(std::move(start));
    for (ScheduledThread& thread : threads_) thread.x = epochs_[0].x;
  }

  ScheduledRun run() {
    ScheduleState state{
        .threads = threads_, .optimum = optimum_, .block = options_.block};
    std::size_t running = threads_.size();
    while (running > 0) {
      const int picked = adversary_.pick(state);
      WEFT_CHECK(picked >= 0 && picked < state.size() && state.can_run(picked),
                 "the adversary picked thread {}", picked);
      step(static_cast<std::size_t>(picked));
      state.ended = ended_;
      running -= state.can_run(picked) ? 0 : 1;
    }
    run_.x = std::move(epochs_.back().x);
    run_.steps = clock_;
    return std::move(run_);
  }

 private:
  struct Epoch {
    std::vector<double> x;
    std::uint64_t next = 0;  // iteration
  };

  void begin_epoch(std::vector<double> start) {
    ideal_ = start;
    epochs_.push_back({std::move(start)});
    look_at_ideal();
  }

  std::vector<double>& x_of(const ScheduledThread& thread) {
    return epochs_[static_cast<std::size_t>(thread.epoch)].x;
  }

  void step(std::size_t number) {
    ScheduledThread& thread = threads_[number];
    ++clock_;
    switch (thread.phase) {
      case SgdPhase::kCounter:
        return begin(thread, number);
      case SgdPhase::kRead:
        return read(thread);
      case SgdPhase::kCompute:
        return compute(thread, number);
      case SgdPhase::kAdd:
        return add(thread, number);
      case SgdPhase::kDone:
        break;
    }
    WEFT_CHECK(false, "a thread that is done was run");
  }

  void begin(ScheduledThread& thread, std::size_t number) {
    Epoch& epoch = epochs_[static_cast<std::size_t>(thread.epoch)];
    if (epoch.next >= options_.iterations) return leave(thread);
    thread.iteration =
        options_.first +
        static_cast<std::uint64_t>(thread.epoch) * options_.iterations +
        epoch.next++;
    thread.sample = problem_.sample(thread.iteration);
    thread.support = problem_.support(thread.sample);
    const std::size_t size =
        thread.support.empty() ? epoch.x.size() : thread.support.size();
    thread.view.assign(size, 0);
    thread.changes.assign(size, 0);
    thread.next = 0;
    thread.phase = SgdPhase::kRead;
    starts_[number] = clock_;
  }

  // An epoch has no iterations left. The first thread to see that copies the
  // model for the next.
  void leave(ScheduledThread& thread) {
    if (thread.epoch + 1 == options_.epochs) {
      thread.phase = SgdPhase::kDone;
      return;
    }
    ++thread.epoch;
    if (static_cast<std::size_t>(thread.epoch) == epochs_.size())
      begin_epoch(epochs_.back().x);
    thread.x = x_of(thread);
  }

  // Calls body(k) for the entries of a block, and returns whether all are done.
  template <class Body>
  bool for_block(ScheduledThread& thread, const Body& body) const {
    const std::size_t end =
        std::min(thread.next + options_.block, thread.changes.size());
    for (; thread.next < end; ++thread.next) body(thread.next);
    return end == thread.changes.size();
  }

  void read(ScheduledThread& thread) {
    if (for_block(thread, [&](std::size_t k) {
          thread.view[k] = thread.x[thread.entry(k)];
        }))
      thread.phase = SgdPhase::kCompute;
  }

  void compute(ScheduledThread& thread, std::size_t number) {
    problem_.gradient(thread.sample, thread.view, thread.changes);
    const double rate = -std::ldexp(options_.rate, -thread.epoch);
    bool is_zero = true;
    for (double& change : thread.changes) {
      if (!std::isfinite(change))
        throw Error(ErrorCode::kNumeric, "sgd",
                    "the gradient of sample {} is no number", thread.sample)
            .hint("a smaller rate often helps");
      change *= rate;
      is_zero = is_zero && change == 0;
    }
    thread.next = 0;
    thread.computed_at = ended_;
    thread.phase = SgdPhase::kAdd;
    if (!is_zero) return;
    // There is nothing to write: it is over, and has its place here.
    write_first(thread, number);
    finish(thread, number);
  }

  void add(ScheduledThread& thread, std::size_t number) {
    if (thread.next == 0) write_first(thread, number);
    std::vector<double>& x = x_of(thread);
    if (for_block(thread, [&](std::size_t k) {
          x[thread.entry(k)] += thread.changes[k];
        }))
      finish(thread, number);
  }

  // The iteration's place in the order, from which on x_t has all of it.
  void write_first(const ScheduledThread& thread, std::size_t number) {
    places_[number] = run_.trace.size();
    run_.trace.push_back({.iteration = thread.iteration,
                          .thread = static_cast<int>(number),
                          .start = starts_[number],
                          .first_write = clock_,
                          .end = clock_});
    // What is written to a copy that is abandoned leads nowhere.
    const bool is_live =
        static_cast<std::size_t>(thread.epoch) + 1 == epochs_.size();
    if (options_.within == 0 || !is_live) return;
    for (std::size_t k = 0; k < thread.changes.size(); ++k)
      ideal_[thread.entry(k)] += thread.changes[k];
    look_at_ideal();
  }

  void look_at_ideal() {
    if (options_.within == 0 || run_.reached) return;
    double distance_2 = 0;
    for (std::size_t j = 0; j < ideal_.size(); ++j)
      distance_2 += (ideal_[j] - optimum_[j]) * (ideal_[j] - optimum_[j]);
    if (distance_2 <= options_.within) run_.reached = run_.trace.size();
  }

  void finish(ScheduledThread& thread, std::size_t number) {
    run_.trace[places_[number]].end = clock_;
    thread.phase = SgdPhase::kCounter;
    ++ended_;
  }

  const SgdProblem<double>& problem_;
  Adversary& adversary_;
  const ScheduleOptions& options_;
  std::vector<Epoch> epochs_;
  std::vector<double> ideal_;  // x_t of the newest epoch
  std::span<const double> optimum_;
  std::vector<ScheduledThread> threads_;
  std::vector<std::size_t> places_;    // in the trace, by thread
  std::vector<std::uint64_t> starts_;  // by thread
  std::uint64_t ended_ = 0;
  std::uint64_t clock_ = 0;
  ScheduledRun run_;
};

void check_schedule(const SgdProblem<double>& problem,
                    const ScheduleOptions& options, std::size_t start,
                    std::size_t optimum) {
  const auto fail = [](const std::string& message) {
    throw Error(ErrorCode::kInvalidArgument, "sgd", "{}", message);
  };
  if (options.threads < 1)
    fail(
        fmt::format("{} threads: there must be at least one", options.threads));
  if (!(options.rate > 0) || std::isinf(options.rate))
    fail(fmt::format("a rate of {}: it must be above 0, and finite",
                     options.rate));
  if (options.epochs < 1)
    fail(fmt::format("{} epochs: there must be at least one", options.epochs));
  if (options.block == 0) fail("steps of 0 entries");
  if (!(options.within >= 0)) fail("a success region below 0");
  if (start != problem.dimensions() || optimum != problem.dimensions())
    fail(fmt::format("{} dimensions, a start of {} and an optimum of {}",
                     problem.dimensions(), start, optimum));
}

}  // namespace

ScheduledRun run_scheduled_sgd(const SgdProblem<double>& problem,
                               Adversary& adversary,
                               const ScheduleOptions& options,
                               std::vector<double> start,
                               std::span<const double> optimum) {
  check_schedule(problem, options, start.size(), optimum.size());
  return Schedule(problem, adversary, options, std::move(start), optimum).run();
}

}  // namespace weft::concurrent
