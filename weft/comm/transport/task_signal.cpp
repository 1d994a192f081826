#include "weft/comm/transport/task_signal.h"

#include <utility>

namespace weft {

TaskSignal::~TaskSignal() { take_waiting(); }

void TaskSignal::notify_all() {
  // They may wait for the same signal again, for the next time.
  for (const Next* next : take_waiting()) next->task_.resume();
}

void TaskSignal::fail(const Error& error) {
  for (Next* next : take_waiting()) {
    next->failure_ = error;
    // Not at once: the transport is in the middle of its own lists.
    transport_.resume_later(next->task_);
  }
}

std::vector<TaskSignal::Next*> TaskSignal::take_waiting() {
  if (!waiting_.empty()) std::erase(transport_.signals_, this);
  for (Next* next : waiting_) next->is_waiting_ = false;
  return std::exchange(waiting_, {});
}

TaskSignal::Next::~Next() {
  if (!is_waiting_) return;
  std::erase(signal_.waiting_, this);
  if (signal_.waiting_.empty())
    std::erase(signal_.transport_.signals_, &signal_);
}

void TaskSignal::Next::await_suspend(std::coroutine_handle<> waiting) {
  task_ = waiting;
  is_waiting_ = true;
  if (signal_.waiting_.empty()) {
    signal_.transport_.signals_.push_back(&signal_);
  }
  signal_.waiting_.push_back(this);
}

}  // namespace weft
