// Whether a history of overlapping operations could have happened one after the
// other: each at one moment between its call and its return, with the results
// that a sequential object gives.
//
//   struct Register {                       // the sequential object
//     int value = 0;
//     bool apply(const Access& access) {    // false: it would not answer so
//       if (access.is_read) return access.value == value;
//       value = access.value;
//       return true;
//     }
//     auto operator<=>(const Register&) const = default;
//   };
//   is_linearizable(Register{}, history);
//
// Where: Herlihy and Wing, "Linearizability", TOPLAS 1990; the search is Wing
// and Gong's (1993), with Lowe's memory of states that failed (2017).
//
// Cost: exponential in what overlaps; for histories of up to 64 operations.
//
// Threads: caller synchronises.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <utility>

#include "weft/base/error.h"

namespace weft::concurrent {

// Two operations overlap unless one returned before the other was called;
// stamps come from one clock and are all different.
template <class Operation>
struct Timed {
  Operation operation;
  std::uint64_t called = 0;
  std::uint64_t returned = 0;
};

template <class Object, class Operation>
class LinearizabilitySearch {
 public:
  explicit LinearizabilitySearch(std::span<const Timed<Operation>> history)
      : history_(history) {
    WEFT_CHECK(history.size() <= 64);
  }

  bool succeeds(const Object& object, std::uint64_t done = 0) {
    if (done == all()) return true;
    // A state is entered when it is first tried: who comes to it again has seen
    // it fail, as success would have ended the search.
    if (!failed_.emplace(done, object).second) return false;
    const std::uint64_t first_return = earliest_return(done);
    for (std::size_t i = 0; i < history_.size(); ++i) {
      if (is_in(done, i) || history_[i].called > first_return) continue;
      Object next = object;
      if (next.apply(history_[i].operation) && succeeds(next, done | bit(i)))
        return true;
    }
    return false;
  }

 private:
  static std::uint64_t bit(std::size_t i) { return std::uint64_t{1} << i; }
  static bool is_in(std::uint64_t set, std::size_t i) {
    return (set & bit(i)) != 0;
  }
  std::uint64_t all() const {
    return history_.size() == 64 ? ~std::uint64_t{0} : bit(history_.size()) - 1;
  }

  // The first return among the operations that are left: what was called later
  // cannot be next.
  std::uint64_t earliest_return(std::uint64_t done) const {
    std::uint64_t earliest = ~std::uint64_t{0};
    for (std::size_t i = 0; i < history_.size(); ++i)
      if (!is_in(done, i)) earliest = std::min(earliest, history_[i].returned);
    return earliest;
  }

  std::span<const Timed<Operation>> history_;
  std::set<std::pair<std::uint64_t, Object>> failed_;
};

template <class Object, class History>
bool is_linearizable(const Object& object, const History& history) {
  const std::span view(history);
  using Operation = decltype(view[0].operation);
  using Plain = std::remove_cvref_t<Operation>;
  return LinearizabilitySearch<Object, Plain>(view).succeeds(object);
}

}  // namespace weft::concurrent
