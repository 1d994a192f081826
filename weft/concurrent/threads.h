// Runs a body on several threads at once; the first exception reaches the
// caller once all have ended.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "weft/base/error.h"

namespace weft::concurrent {

// `body` is given the thread's number, 0 … count-1. None begins before all are
// there, as bodies may wait for each other. Throws Error(kExhausted), and runs
// nothing, where the system has not so many threads.
inline void run_threads(int count, const std::function<void(int)>& body) {
  enum class Start { kWait, kGo, kGiveUp };
  std::exception_ptr failure;
  std::mutex guard;
  {
    std::atomic<Start> start = Start::kWait;
    const auto say = [&](Start what) {
      start.store(what);
      start.notify_all();
    };
    std::vector<std::jthread> threads;
    threads.reserve(static_cast<std::size_t>(count));
    try {
      for (int i = 0; i < count; ++i)
        threads.emplace_back([&, i] {
          start.wait(Start::kWait);
          if (start.load() == Start::kGiveUp) return;
          try {
            body(i);
          } catch (...) {
            const std::lock_guard lock(guard);
            if (!failure) failure = std::current_exception();
          }
        });
    } catch (const std::system_error& error) {
      say(Start::kGiveUp);
      throw Error(ErrorCode::kExhausted, "threads",
                  "the system gives {} of {} threads: {}", threads.size(),
                  count, error.what())
          .hint("ask for fewer threads");
    } catch (...) {
      say(Start::kGiveUp);
      throw;
    }
    say(Start::kGo);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace weft::concurrent
