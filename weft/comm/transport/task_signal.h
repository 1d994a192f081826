// Lets tasks of one rank wait for each other.
//
//   while (!is_there()) co_await changed.next();
//
//   …                      // another task makes it so
//   changed.notify_all();
//
// Who is to notify a task may fail before, or may never begin once the network
// has failed: so those that wait fail with the transfers of their rank
// (Transport::fail_all).
//
// Threads: that of the tasks' engine.
#pragma once

#include <coroutine>
#include <optional>
#include <vector>

#include "weft/comm/transport/transport.h"

namespace weft {

class TaskSignal {
 public:
  class Next;

  // The transport must outlive whoever waits. The signal need not: who waited
  // for one that is gone is never resumed.
  explicit TaskSignal(Transport& transport) : transport_(transport) {}
  ~TaskSignal();
  TaskSignal(const TaskSignal&) = delete;
  TaskSignal& operator=(const TaskSignal&) = delete;

  // Is over at the next notify_all(). Throws the error of the network, if that
  // fails before.
  Next next();

  // Those that wait go on at once, each until it waits again.
  void notify_all();

 private:
  friend class Transport;
  // Who waits does so no longer, and the transport forgets the signal.
  std::vector<Next*> take_waiting();
  void fail(const Error& error);

  Transport& transport_;
  std::vector<Next*> waiting_;
};

class TaskSignal::Next {
 public:
  explicit Next(TaskSignal& signal) : signal_(signal) {}
  // It may go while it waits, with a task that is given up.
  ~Next();
  Next(const Next&) = delete;
  Next& operator=(const Next&) = delete;

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting);
  void await_resume() const {
    if (failure_) throw *failure_;
  }

 private:
  friend class TaskSignal;

  TaskSignal& signal_;
  std::coroutine_handle<> task_;
  bool is_waiting_ = false;
  std::optional<Error> failure_;
};

inline TaskSignal::Next TaskSignal::next() { return Next(*this); }

}  // namespace weft
