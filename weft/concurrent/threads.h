// Runs a body on several threads at once; the first exception reaches the
// caller once all have ended.
#pragma once

#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace weft::concurrent {

// `body` is given the thread's number, 0 … count-1.
inline void run_threads(int count, const std::function<void(int)>& body) {
  std::exception_ptr failure;
  std::mutex guard;
  {
    std::vector<std::jthread> threads;
    threads.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i)
      threads.emplace_back([&, i] {
        try {
          body(i);
        } catch (...) {
          const std::lock_guard lock(guard);
          if (!failure) failure = std::current_exception();
        }
      });
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace weft::concurrent
