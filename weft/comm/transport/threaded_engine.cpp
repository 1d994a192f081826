#include "weft/comm/transport/threaded_engine.h"

namespace weft {

ThreadedEngine::ThreadedEngine(Transport& transport,
                               const EngineOptions& options)
    : transport_(transport), options_(options) {
  WEFT_CHECK(!transport.is_simulated(), "a virtual clock has one thread");
  thread_ = std::thread([this] { serve(); });
}

ThreadedEngine::~ThreadedEngine() {
  give_up();
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  // The thread may sleep in a poll, which would last its whole time.
  transport_.wake();
  thread_.join();
}

AsyncEngine::Operation ThreadedEngine::submit(std::function<Task<>()> make) {
  auto operation = std::make_shared<Submitted>();
  operation->make = std::move(make);
  {
    const std::lock_guard lock(mutex_);
    submitted_.push_back(operation);
    ++unfinished_;
  }
  transport_.wake();
  return operation;
}

void ThreadedEngine::wait(const Operation& operation) {
  std::unique_lock lock(mutex_);
  over_.wait(lock, [&] { return operation->is_over; });
  if (operation->failure) throw *operation->failure;
}

void ThreadedEngine::fail(const Error& error) {
  // No coroutine: it throws as it is called, on the network's thread, where
  // start() tells the other ranks.
  const Operation failing = submit([&error]() -> Task<> { throw error; });
  std::unique_lock lock(mutex_);
  // Unlike wait(), this does not throw the error back.
  over_.wait(lock, [&] { return failing->is_over; });
}

void ThreadedEngine::give_up() {
  {
    const std::lock_guard lock(mutex_);
    // A rank that leaves when all is over just leaves.
    if (unfinished_ == 0) return;
  }
  fail(Error(ErrorCode::kCancelled, fmt::format("rank {}", transport_.rank()),
             "left while operations were under way"));
  // Where the network had failed before, what is under way learns of it at the
  // next poll.
  std::unique_lock lock(mutex_);
  over_.wait(lock, [&] { return unfinished_ == 0; });
}

Traffic ThreadedEngine::traffic() const {
  const std::lock_guard lock(mutex_);
  return traffic_;
}

void ThreadedEngine::serve() {
  Engine engine(transport_, options_);
  while (start_submitted(engine)) {
    // Polls that only wait for something to be submitted are not counted as
    // busy.
    const bool is_busy = !under_way_.empty();
    const double started = transport_.now();
    try {
      engine.poll(kPollSeconds);
    } catch (...) {
      // The network itself has failed, and with it all that is under way.
      engine.fail(failure_of(std::current_exception()));
    }
    if (is_busy) count(started);
    collect();
  }
}

bool ThreadedEngine::start_submitted(Engine& engine) {
  std::deque<Operation> submitted;
  {
    const std::lock_guard lock(mutex_);
    if (is_ending_) return false;
    // They are taken over under the lock and started without it: to start one
    // may take long, and others submit meanwhile.
    submitted.swap(submitted_);
  }
  const double started = transport_.now();
  for (const Operation& operation : submitted) start(engine, operation);
  if (!submitted.empty()) count(started);
  collect();
  return true;
}

void ThreadedEngine::start(Engine& engine, const Operation& operation) {
  try {
    operation->task = engine.start(operation->make());
    under_way_.push_back(operation);
  } catch (...) {
    const Error error = failure_of(std::current_exception());
    // An operation that cannot even start here is one that others wait for in
    // vain.
    engine.fail(error);
    end(operation, error);
  }
  // What it captured may go; the caller may keep the operation for long.
  operation->make = nullptr;
}

void ThreadedEngine::collect() {
  std::erase_if(under_way_, [&](const Operation& operation) {
    if (!operation->task->is_done()) return false;
    const std::exception_ptr thrown = operation->task->failure();
    end(operation, thrown ? std::optional(failure_of(thrown)) : std::nullopt);
    return true;
  });
}

void ThreadedEngine::count(double since) {
  // The transport belongs to this thread; others read a copy.
  const std::lock_guard lock(mutex_);
  traffic_.busy_seconds += transport_.now() - since;
  traffic_.bytes_sent = transport_.bytes_sent();
  traffic_.bytes_received = transport_.bytes_received();
}

Error ThreadedEngine::failure_of(const std::exception_ptr& thrown) const {
  return error_of(thrown, fmt::format("rank {}", transport_.rank()));
}

void ThreadedEngine::end(const Operation& operation,
                         std::optional<Error> failure) {
  {
    const std::lock_guard lock(mutex_);
    operation->failure = std::move(failure);
    operation->is_over = true;
    --unfinished_;
  }
  // Each waits for an operation of its own, so all have to look.
  over_.notify_all();
}

}  // namespace weft
