#include "weft/serve/executors.h"

#include <algorithm>
#include <pthread.h>

#include "weft/base/parallel.h"
#include "weft/base/stopwatch.h"

namespace weft::serve {
namespace {

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// Tells whoever waits, and counts how it ended.
void finish(ModelMetrics& metrics, const RequestRef& request, Outcome outcome) {
  metrics.requests[static_cast<std::size_t>(outcome.status)] += 1;
  metrics.request_seconds.observe(seconds(Clock::now() - request->arrival));
  request->done(std::move(outcome));
}

// A run has those of the rows that are added, too.
std::int64_t elements_of_run(const ServedModel& model, const BatchSize& batch) {
  return batch.elements / batch.rows * model.rows_of_run(batch.rows);
}

// The thread is a volunteer for these.
thread_local const Executors* volunteers_for = nullptr;

}  // namespace

// A batch that was taken out of its lane.
struct Executors::Work {
  LaneRef lane;
  std::vector<RequestRef> batch;
  BatchSize size = {};
};

Executors::Executors(const ExecutorOptions& options, Metrics& metrics)
    : options_(options), metrics_(metrics) {
  WEFT_CHECK(options.executors > 0 && options.executors <= options.threads);
  metrics.compute_threads = options.threads;
  for (int i = 0; i < options.executors; ++i) {
    threads_.emplace_back([this, i] { compute(i); });
  }
  threads_.emplace_back([this] { watch_deadlines(); });
}

Executors::~Executors() { end(); }

Executors::Volunteer::Volunteer(Executors& executors)
    : executors_(executors), threads_before_(thread_count()) {
  WEFT_CHECK(volunteers_for == nullptr);
  volunteers_for = &executors;
  // It stands for any executor, so it has no more threads than any of them.
  set_thread_count(executors.team_of(executors.count() - 1));
}

Executors::Volunteer::~Volunteer() {
  volunteers_for = nullptr;
  set_thread_count(threads_before_);
  // What it has submitted last is left to executors.
  executors_.has_work_.notify_all();
}

void Executors::end() {
  std::vector<std::pair<LaneRef, RequestRef>> left;
  {
    const Lock lock(mutex_);
    is_hurried_ = true;
    is_draining_ = true;
    is_ending_ = true;
    // All are late now.
    left = take_late(Time::max());
    note_idle();
  }
  for (const auto& [lane, request] : left) {
    finish(lane->metrics_, request,
           {Status::kUnavailable, "the server has ended"});
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

// The first ones have one thread more where they do not divide evenly.
int Executors::team_of(int executor) const {
  return options_.threads / options_.executors +
         (executor < options_.threads % options_.executors ? 1 : 0);
}

LaneRef Executors::open(ModelRef model) {
  const BatchLimits limits{model->most_rows(), options_.delay,
                           options_.most_waiting};
  ModelMetrics& metrics = metrics_.of(model->name());
  return std::make_shared<Lane>(std::move(model), limits, metrics);
}

void Executors::submit(const LaneRef& lane, const RequestRef& request) {
  {
    const Lock lock(mutex_);
    const std::string& name = lane->model_->name();
    if (is_draining_) {
      throw Refusal(Status::kUnavailable, name, "the server is shutting down");
    }
    const bool was_idle = lane->is_idle();
    if (!lane->queue_.push(request)) {
      throw Refusal(Status::kFull, name,
                    "{} requests wait already, which is all that the queue "
                    "holds; try again later",
                    options_.most_waiting);
    }
    lane->metrics_.waiting += 1;
    if (was_idle) lanes_.push_back(lane);
    // Most deadlines are as long as those before: nobody is woken for them.
    if (request->deadline < next_look_) has_deadline_.notify_one();
    if (volunteers_for == this && is_short(*lane, Clock::now())) return;
  }
  has_work_.notify_one();
}

void Executors::cancel(const LaneRef& lane, const RequestRef& request) {
  {
    const Lock lock(mutex_);
    if (!lane->queue_.remove(*request)) return;
    lane->metrics_.waiting -= 1;
    if (lane->is_idle()) lanes_.remove(lane);
    note_idle();
  }
  finish(lane->metrics_, request,
         {Status::kCancelled, "the client gave the request up"});
}

// Who waits for the end sees whether it has come.
void Executors::note_idle() {
  if (!lanes_.empty()) return;
  is_done_.notify_all();
  if (!is_ending_) return;
  has_work_.notify_all();
  has_deadline_.notify_all();
}

std::optional<Time> Executors::next_ready() const {
  std::optional<Time> first;
  for (const LaneRef& lane : lanes_) {
    if (!lane->is_open()) continue;
    const auto ready = lane->queue_.ready_at(is_hurried_);
    if (ready && (!first || *ready < *first)) first = ready;
  }
  return first;
}

LaneRef Executors::ready_longest(Time now) const {
  LaneRef oldest;
  Time earliest = Time::max();
  for (const LaneRef& lane : lanes_) {
    if (!lane->is_open()) continue;
    const auto ready = lane->queue_.ready_at(is_hurried_);
    if (!ready || *ready > now || *ready >= earliest) continue;
    oldest = lane;
    earliest = *ready;
  }
  return oldest;
}

// Padding is no use of time: where a run of fewer rows gets more of them done,
// the others have the next one.
BatchSize Executors::next_batch(const Lane& lane, Time now) const {
  const BatchSize all = lane.queue_.next(now, is_hurried_);
  if (all.rows == 0 || all.rows == lane.model_->rows_of_run(all.rows)) {
    return all;
  }
  const std::int64_t of_row = all.elements / all.rows;
  const std::int64_t rows = lane.times_.rows_that_pay(all.rows, of_row);
  return {rows, rows * of_row};
}

Executors::Work Executors::take(const LaneRef& lane, Time now) {
  const std::int64_t most_rows = next_batch(*lane, now).rows;
  Work work{lane, lane->queue_.take(now, is_hurried_, most_rows)};
  for (const RequestRef& each : work.batch) {
    work.size.rows += each->rows;
    work.size.elements += each->elements;
  }
  lane->running_ += 1;
  lane->metrics_.running += 1;
  lane->metrics_.waiting -= static_cast<std::int64_t>(work.batch.size());
  return work;
}

bool Executors::is_short(const Lane& lane, Time now) const {
  const BatchSize batch = next_batch(lane, now);
  return batch.rows > 0 &&
         lane.times_.expected(elements_of_run(*lane.model_, batch)) <=
             seconds(options_.short_run);
}

void Executors::compute(int executor) {
  // Threads of its team are called as this one.
  pthread_setname_np(pthread_self(), "weft-compute");
  set_thread_count(team_of(executor));
  Lock lock(mutex_);
  while (true) {
    // Volunteers may have taken the places of all executors.
    const bool has_place = computing_ < options_.executors;
    const Time now = Clock::now();
    if (const LaneRef lane = has_place ? ready_longest(now) : nullptr) {
      run(take(lane, now), lock);
      continue;
    }
    const auto next = next_ready();
    if (next && has_place) {
      has_work_.wait_until(lock, *next);
    } else if (is_ending_ && lanes_.empty()) {
      return;
    } else {
      has_work_.wait(lock);
    }
  }
}

bool Executors::run_short() {
  Lock lock(mutex_);
  // Whoever computes looks for more when it is done.
  if (computing_ == options_.executors) return false;
  const Time now = Clock::now();
  const LaneRef lane = ready_longest(now);
  if (lane == nullptr) return false;
  if (!is_short(*lane, now)) {
    has_work_.notify_one();
    return false;
  }
  run(take(lane, now), lock);
  // This thread may not come back for what is left behind.
  if (next_ready()) has_work_.notify_one();
  return true;
}

void Executors::run(const Work& work, Lock& lock) {
  Lane& lane = *work.lane;
  computing_ += 1;
  // This thread may have been woken for what is left behind, too.
  if (computing_ < options_.executors && next_ready()) has_work_.notify_one();
  lock.unlock();
  const double taken = answer(work);
  lock.lock();
  lane.times_.add(elements_of_run(*lane.model_, work.size), taken);
  computing_ -= 1;
  lane.running_ -= 1;
  lane.metrics_.running -= 1;
  if (lane.is_idle()) lanes_.remove(work.lane);
  note_idle();
}

double Executors::answer(const Work& work) {
  ModelMetrics& metrics = work.lane->metrics_;
  const Time begin = Clock::now();
  for (const RequestRef& each : work.batch) {
    metrics.queue_seconds.observe(seconds(begin - each->arrival));
  }
  ServedModel::BatchReport report;
  std::vector<Outcome> outcomes;
  const Stopwatch watch;
  try {
    outcomes = work.lane->model_->run(work.batch, report);
  } catch (const std::exception& error) {
    // No request may take the server along.
    outcomes.assign(work.batch.size(), {Status::kInternal, error.what()});
  }
  const double taken = watch.seconds();
  metrics.batches += 1;
  metrics.rows += static_cast<std::uint64_t>(work.size.rows);
  metrics.padding += static_cast<std::uint64_t>(report.padding);
  metrics.batch_rows.observe(static_cast<double>(work.size.rows));
  metrics.compute_seconds.observe(report.seconds);
  for (std::size_t i = 0; i < work.batch.size(); ++i) {
    finish(metrics, work.batch[i], std::move(outcomes[i]));
  }
  return taken;
}

// Takes requests out of all queues whose deadline has passed.
std::vector<std::pair<LaneRef, RequestRef>> Executors::take_late(Time now) {
  std::vector<std::pair<LaneRef, RequestRef>> late;
  for (auto at = lanes_.begin(); at != lanes_.end();) {
    const LaneRef lane = *at;
    for (RequestRef& each : lane->queue_.take_expired(now)) {
      late.emplace_back(lane, std::move(each));
      lane->metrics_.waiting -= 1;
    }
    at = lane->is_idle() ? lanes_.erase(at) : std::next(at);
  }
  return late;
}

// Executors may all be computing when a deadline passes.
void Executors::watch_deadlines() {
  Lock lock(mutex_);
  while (!(is_ending_ && lanes_.empty())) {
    const auto late = take_late(Clock::now());
    next_look_ = Time::max();
    for (const LaneRef& lane : lanes_) {
      next_look_ = std::min(next_look_, lane->queue_.next_deadline());
    }
    note_idle();
    if (!late.empty()) {
      lock.unlock();
      for (const auto& [lane, request] : late) {
        finish(lane->metrics_, request,
               {Status::kExpired,
                "its deadline passed before the model was free"});
      }
      lock.lock();
    } else if (next_look_ == Time::max()) {
      has_deadline_.wait(lock);
    } else {
      has_deadline_.wait_until(lock, next_look_);
    }
  }
}

void Executors::hurry() {
  const Lock lock(mutex_);
  is_hurried_ = true;
  has_work_.notify_all();
}

bool Executors::drain(Time until) {
  hurry();
  Lock lock(mutex_);
  is_draining_ = true;
  return is_done_.wait_until(lock, until, [this] { return lanes_.empty(); });
}

}  // namespace weft::serve
