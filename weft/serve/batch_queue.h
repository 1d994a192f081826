// The requests that wait for one model, and which of them run together next.
//
// A batch is ready when its rows are as many as may run together, or when its
// oldest request has waited for `delay`; a request whose deadline is near waits
// for half of the time that it has. Time comes in from outside, so that what
// happens when is the caller's to say, and a test's.
//
// Threads: caller synchronises.
#pragma once

#include <cstddef>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "weft/serve/request.h"

namespace weft::serve {

struct BatchSize {
  std::int64_t rows = 0;
  std::int64_t elements = 0;  // of all inputs together
};

struct BatchLimits {
  std::int64_t most_rows = 1;  // that run together; a larger request runs alone
  Duration delay = {};         // that a request waits for others
  std::size_t most_waiting = 1;
};

class BatchQueue {
 public:
  explicit BatchQueue(const BatchLimits& limits) : limits_(limits) {}

  // False where the queue is full: the request is not in it.
  bool push(RequestRef request);
  // Takes out a request that its sender gave up; false if it does not wait.
  bool remove(const Request& request);

  // When take() will have something, given what waits now: a time that has
  // passed means at once. Nothing if none waits. With `is_hurried` nobody is
  // waited for.
  std::optional<Time> ready_at(bool is_hurried = false) const;
  // The batch that has been ready for the longest, oldest request first; empty
  // if none is. A request is never split, nor overtaken within its group. Of
  // more than `most_rows` rows it has the first ones.
  std::vector<RequestRef> take(Time now, bool is_hurried = false,
                               std::int64_t most_rows = kAnyRows);
  // What take() would have.
  BatchSize next(Time now, bool is_hurried = false) const;

  // Takes out those whose deadline has passed.
  std::vector<RequestRef> take_expired(Time now);
  // The first deadline of all; Time::max() if there is none.
  Time next_deadline() const;

  std::size_t size() const { return size_; }

 private:
  static constexpr auto kAnyRows = std::numeric_limits<std::int64_t>::max();

  struct Group {
    std::deque<RequestRef> requests;
    std::int64_t rows = 0;
  };
  using Groups = std::map<std::vector<Dim>, Group>;

  Time ready_at(const Group& group, bool is_hurried) const;
  Groups::const_iterator ready_longest(Time now, bool is_hurried) const;
  // How many of its requests run together.
  std::size_t size_of_batch(const Group& group, std::int64_t most_rows) const;
  template <class Predicate>
  std::vector<RequestRef> take_if(Predicate&& is_wanted);

  BatchLimits limits_;
  Groups groups_;  // none is empty
  std::size_t size_ = 0;
};

}  // namespace weft::serve
