// A coroutine that computes a T: how algorithms over a network are written.
//
//   Task<> exchange(Channel channel, int peer, std::span<std::byte> mine, …) {
//     Transfer sent = channel.send(peer, mine);
//     Transfer received = channel.receive(peer, theirs);
//     co_await received;
//     co_await sent;
//   }
//
// Straight-line code that blocks nobody: while it waits, the rank's engine
// (engine.h) runs others, on a real network or a simulated one.
//
// A task starts when it is awaited or start()ed, and owns its frame: destroying
// it ends what it was doing. Parameters are taken by value, unless the caller
// awaits the task in the same expression that makes it.
//
// GCC 12 destroys what is made of a braced list inside of a co_await expression
// twice: `co_await f(all.open({"…", "…"}))` must open in a statement of its
// own.
//
// Threads: a task runs on the thread of its engine.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "weft/base/error.h"

namespace weft {

template <class T>
class Task;

namespace detail {

// What all promises share: who waits for the end, and how it ended.
struct TaskPromiseBase {
  std::coroutine_handle<> continuation;
  std::exception_ptr failure;
  bool is_started = false;

  std::suspend_always initial_suspend() noexcept { return {}; }

  // The end goes straight on to whoever waits (symmetric transfer), so that a
  // long chain of tasks does not nest on the stack. The frame stays for its
  // owner, who reads the result and destroys it.
  struct Finish {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(
        std::coroutine_handle<Promise> finished) const noexcept {
      const auto next = finished.promise().continuation;
      return next ? next : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };
  Finish final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { failure = std::current_exception(); }
};

template <class T>
struct TaskPromise : TaskPromiseBase {
  std::optional<T> value;

  Task<T> get_return_object();
  void return_value(T result) { value.emplace(std::move(result)); }
  T take() {
    if (failure) std::rethrow_exception(failure);
    return std::move(*value);
  }
};

template <>
struct TaskPromise<void> : TaskPromiseBase {
  Task<void> get_return_object();
  void return_void() {}
  void take() {
    if (failure) std::rethrow_exception(failure);
  }
};

}  // namespace detail

template <class T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::TaskPromise<T>;

  Task() = default;
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      if (handle_) handle_.destroy();
      handle_ = std::exchange(other.handle_, {});
    }
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  // Runs until it first waits. Once.
  void start() {
    handle_.promise().is_started = true;
    handle_.resume();
  }
  bool is_done() const { return handle_.done(); }
  // What it threw, when done.
  std::exception_ptr failure() const { return handle_.promise().failure; }
  // What it returned; rethrows what it threw. Once, when done.
  T result() {
    WEFT_CHECK(is_done());
    return handle_.promise().take();
  }

  // Awaiting a task that is not started runs it; only one may await.
  bool await_ready() const noexcept { return handle_.done(); }
  std::coroutine_handle<> await_suspend(
      std::coroutine_handle<> waiting) noexcept {
    auto& promise = handle_.promise();
    promise.continuation = waiting;
    // It is under way already: its end will resume the one that waits.
    if (promise.is_started) return std::noop_coroutine();
    promise.is_started = true;
    return handle_;
  }
  T await_resume() { return handle_.promise().take(); }

 private:
  std::coroutine_handle<promise_type> handle_;
};

template <class T>
Task<T> detail::TaskPromise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}
inline Task<void> detail::TaskPromise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}

// Runs all of them side by side and ends with the last. Rethrows the failure
// of the first (by position) that failed.
Task<> all_of(std::vector<Task<>> tasks);

// What was thrown, as an Error; of another type, as a defect (kInternal) seen
// at `where`.
Error error_of(const std::exception_ptr& thrown, const std::string& where);

}  // namespace weft
