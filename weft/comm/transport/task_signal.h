// Lets tasks of one rank wait for each other.
//
//   while (!is_there()) co_await changed.next();
//
//   …                      // another task makes it so
//   changed.notify_all();
//
// A task that waits so has no transfer that could fail: whoever is to notify it
// must do so on its way out, too.
//
// Threads: that of the tasks' engine.
#pragma once

#include <coroutine>
#include <utility>
#include <vector>

namespace weft {

class TaskSignal {
 public:
  class Next {
   public:
    explicit Next(TaskSignal& signal) : signal_(signal) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiting) {
      signal_.waiting_.push_back(waiting);
    }
    void await_resume() const noexcept {}

   private:
    TaskSignal& signal_;
  };

  // Is over at the next notify_all().
  Next next() { return Next(*this); }

  // Those that wait go on at once, each until it waits again.
  void notify_all() {
    // They may wait for the same signal again, for the next time.
    for (const auto waiting : std::exchange(waiting_, {})) waiting.resume();
  }

 private:
  std::vector<std::coroutine_handle<>> waiting_;
};

}  // namespace weft
