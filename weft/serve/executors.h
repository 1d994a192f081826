// The threads that compute, for all models together: each takes the batch that
// has been ready for the longest, of any model, and runs it with its share of
// the threads.
//
// A thread that hands requests in may offer itself for short runs (Volunteer):
// to wake another one, and to be woken for the outcome, takes a good part of
// their time.
//
// A server computes on `threads` threads and never on more: executors divide
// them among themselves, and OpenMP gives each of them a team of its own.
//
// Threads: thread-safe. Outcomes are delivered on executors and volunteers, or
//          on the thread that looks after deadlines.
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "weft/serve/batch_queue.h"
#include "weft/serve/metrics.h"
#include "weft/serve/run_times.h"
#include "weft/serve/served_model.h"

namespace weft::serve {

struct ExecutorOptions {
  int threads = 1;    // that compute, at least as many as executors
  int executors = 1;  // batches that run at once
  Duration delay = {};
  // Up to here a run is short: to wake another thread for it would cost a good
  // part of it, and whoever else a volunteer reads for can wait as long.
  Duration short_run = std::chrono::microseconds(100);
  std::size_t most_waiting = 256;  // requests of each model
};

class Executors {
 public:
  Executors(const ExecutorOptions& options, Metrics& metrics);
  ~Executors();

  // How many threads the team of an executor has, the largest one.
  int team() const { return team_of(0); }
  int count() const { return options_.executors; }

  // The queue of one version of a model.
  class Lane;
  using LaneRef = std::shared_ptr<Lane>;
  LaneRef open(ModelRef model);

  // The request's `done` will be called, unless this throws: Refusal(kFull)
  // where the queue has no place left, Refusal(kUnavailable) after drain().
  void submit(const LaneRef& lane, const RequestRef& request);
  // The calling thread is one as long as it lives.
  class Volunteer;
  // Gives up a request: it leaves the queue, and its `done` is told. One that
  // runs already, or is over, is left alone.
  void cancel(const LaneRef& lane, const RequestRef& request);

  // From here on no request waits for others.
  void hurry();
  // Hurries, takes no more requests, and returns when all that was submitted is
  // done, or the time has come; says which.
  bool drain(Time until);
  // Ends with the batches that run: what waits is told that it will not. No
  // `done` is called afterwards.
  void end();

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Work;

  int team_of(int executor) const;
  void compute(int executor);
  void watch_deadlines();
  std::vector<std::pair<LaneRef, RequestRef>> take_late(Time now);
  std::optional<Time> next_ready() const;
  // The lane whose batch has been ready for the longest; null if none is.
  LaneRef ready_longest(Time now) const;
  // What take() gives the next batch at most; no rows if none is ready.
  BatchSize next_batch(const Lane& lane, Time now) const;
  Work take(const LaneRef& lane, Time now);
  bool is_short(const Lane& lane, Time now) const;
  bool run_short();
  // Runs it in one of the places, without the lock.
  void run(const Work& work, Lock& lock);
  // Runs it and tells whoever waits; returns the seconds that the run took.
  double answer(const Work& work);
  void note_idle();

  ExecutorOptions options_;
  Metrics& metrics_;
  mutable std::mutex mutex_;
  std::condition_variable has_work_;
  std::condition_variable has_deadline_;
  std::condition_variable is_done_;
  std::list<LaneRef> lanes_;      // in which something waits or runs
  Time next_look_ = Time::max();  // of who looks after deadlines
  int computing_ = 0;             // executors and volunteers, in as many places
  bool is_hurried_ = false;
  bool is_draining_ = false;
  bool is_ending_ = false;
  std::vector<std::thread> threads_;
};

// A model, what waits for it, and what it has counted.
class Executors::Lane {
 public:
  Lane(ModelRef model, const BatchLimits& limits, ModelMetrics& metrics)
      : model_(std::move(model)), queue_(limits), metrics_(metrics) {}

  const ServedModel& model() const { return *model_; }
  ModelMetrics& metrics() const { return metrics_; }

 private:
  friend class Executors;

  // Whether another batch may begin.
  bool is_open() const { return running_ == 0 || !model_->is_serial(); }
  bool is_idle() const { return running_ == 0 && queue_.size() == 0; }

  ModelRef model_;
  BatchQueue queue_;
  RunTimes times_;
  int running_ = 0;
  ModelMetrics& metrics_;
};

// Computes in the place of an idle executor, where that is short. Whoever makes
// one calls run() before it waits for anything: what its thread has submitted
// meanwhile, and is short, wakes no executor.
class Executors::Volunteer {
 public:
  explicit Volunteer(Executors& executors);
  ~Volunteer();
  Volunteer(const Volunteer&) = delete;
  Volunteer& operator=(const Volunteer&) = delete;

  // One batch that is ready, if its run is expected to be short and an executor
  // is idle; says whether it did. Outcomes are delivered on this thread.
  bool run() { return executors_.run_short(); }

 private:
  Executors& executors_;
  int threads_before_;
};

using LaneRef = Executors::LaneRef;

}  // namespace weft::serve
