// What transactions share: words in memory.
//
//   Cell<double> balance(100);
//   LockedCell<Node*> head;        // with a lock of its own
//
// A Cell holds a value of up to eight bytes, and shares the locks of a table
// with other cells (lock_table.h). A LockedCell has its lock beside it: twice
// the room, but one cache miss instead of two where cells lie apart. Both are
// read and written through a transaction.
//
// Threads: `unshared` and constructors are for times when no transaction runs
// on the cell.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "weft/concurrent/memory.h"

namespace weft::concurrent {

template <Memory M>
using Word = typename M::template Atomic<std::uint64_t>;

template <class T>
concept FitsInWord = std::is_trivially_copyable_v<T> &&
                     sizeof(T) <= sizeof(std::uint64_t);

template <FitsInWord T>
std::uint64_t to_word(const T& value) {
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof(T));  // NOLINT: of pointers, too
  return word;
}

template <FitsInWord T>
T from_word(std::uint64_t word) {
  T value;
  std::memcpy(&value, &word, sizeof(T));  // NOLINT: of pointers, too
  return value;
}

template <FitsInWord T, Memory M = RealMemory>
class Cell {
 public:
  explicit Cell(T value = T{}) { set_unshared(value); }

  T unshared() const {
    return from_word<T>(word_.load(std::memory_order_acquire));
  }
  void set_unshared(T value) {
    word_.store(to_word(value), std::memory_order_release);
  }

  Word<M>& word() const { return word_; }

 private:
  mutable Word<M> word_;
};

template <FitsInWord T, Memory M = RealMemory>
class LockedCell : public Cell<T, M> {
 public:
  using Cell<T, M>::Cell;

  Word<M>& lock() const { return lock_; }

 private:
  mutable Word<M> lock_;
};

}  // namespace weft::concurrent
