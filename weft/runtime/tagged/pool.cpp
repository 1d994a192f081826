#include "weft/runtime/tagged/pool.h"

namespace weft {

void WorkPool::reset(int workers, bool may_pause) {
  const std::lock_guard lock(mutex_);
  offered_.clear();
  wanted_.store(0, std::memory_order_relaxed);
  is_stopped_.store(false, std::memory_order_relaxed);
  workers_ = workers;
  may_pause_ = may_pause;
  waiting_ = 0;
  error_ = nullptr;
}

void WorkPool::offer(Item item) {
  {
    const std::lock_guard lock(mutex_);
    offered_.push_back(item);
    // The offer counts one waiter as served at once, so that a second worker
    // does not give away work for the same one. It is a hint: the mutex orders
    // what matters.
    wanted_.fetch_sub(1, std::memory_order_relaxed);
  }
  // The lock is free by now, or the waiter would wake only to wait for it.
  changed_.notify_one();
}

std::optional<Item> WorkPool::wait() {
  std::unique_lock lock(mutex_);
  ++waiting_;
  wanted_.fetch_add(1, std::memory_order_relaxed);
  // Whoever could still make something ready would not wait. A graph that ends
  // so is malformed, and would sleep for ever.
  if (waiting_ == workers_ && offered_.empty() && !is_stopped()) {
    if (!may_pause_)
      error_ = std::make_exception_ptr(
          Error(ErrorCode::kInternal, "tagged",
                "the run waits for a value that nothing computes"));
    stop_locked();
  }
  changed_.wait(lock, [&] { return is_stopped() || !offered_.empty(); });
  --waiting_;
  if (is_stopped()) return std::nullopt;
  // offer() has counted this worker as served.
  const Item item = offered_.back();
  offered_.pop_back();
  return item;
}

void WorkPool::stop_locked() {
  is_stopped_.store(true, std::memory_order_relaxed);
  changed_.notify_all();
}

void WorkPool::finish() {
  const std::lock_guard lock(mutex_);
  stop_locked();
}

void WorkPool::fail(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  // The first error is the cause; later ones may come of stopping.
  if (error_ == nullptr) error_ = std::move(error);
  stop_locked();
}

void WorkPool::rethrow() const {
  if (error_ != nullptr) std::rethrow_exception(error_);
}

}  // namespace weft
