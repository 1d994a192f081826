// A heap behind two small buffers, so that most operations stay within a few
// cache lines: the next sixteen entries lie sorted in front of it, and new ones
// wait behind until sixteen can be pushed together.
//
// Invariant: nothing behind comes before anything in front, and the front is
// empty only if all is.
//
// Threads: caller synchronises.
// Source: the buffered queues of M. Williams, P. Sanders, R. Dementiev,
// "Engineering MultiQueues", ESA 2021.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "weft/concurrent/memory.h"
#include "weft/concurrent/queue/wide_heap.h"

namespace weft::concurrent {

template <class Entry, Memory M>
class BufferedHeap {
 public:
  bool empty() const { return in_front_ == 0; }
  std::size_t size() const { return in_front_ + arrived_ + heap_.size(); }

  // The first entry; there must be one.
  const Entry& top() const { return front_[in_front_ - 1]; }

  // May throw std::bad_alloc, and has then changed nothing.
  void push(const Entry& entry) {
    // With nothing behind and room in front, any entry may go in front.
    // Otherwise only those may that come before the last one there: something
    // behind may come before the others.
    const bool belongs_behind =
        in_front_ != 0 && !(entry.key < front_[0].key) &&
        (in_front_ == kBuffer || arrived_ != 0 || !heap_.empty());
    if (belongs_behind) return arrive(entry);
    if (in_front_ == kBuffer) {
      // This may throw, and comes before anything has changed.
      arrive(front_[0]);
      std::copy(front_.begin() + 1, front_.end(), front_.begin());
      --in_front_;
    }
    insert_in_front(entry);
  }

  // Removes the first entry. There must be one.
  Entry pop() {
    const Entry first = front_[--in_front_];
    M::touch(&front_[in_front_], sizeof(Entry), Access::kRead);
    // Before the next look at the first entry, which follows each pop of a
    // MultiQueue.
    if (in_front_ == 0) refill();
    return first;
  }

 private:
  static constexpr std::size_t kBuffer = 16;

  void insert_in_front(const Entry& entry) {
    std::size_t place = in_front_++;
    for (; place != 0 && front_[place - 1].key < entry.key; --place)
      front_[place] = front_[place - 1];
    front_[place] = entry;
    M::touch(&front_[place], (in_front_ - place) * sizeof(Entry),
             Access::kWrite);
  }

  // Room in the heap is made here, as a pop must not fail.
  void arrive(const Entry& entry) {
    heap_.reserve(arrived_ + 1);
    if (arrived_ == kBuffer) settle();
    arrivals_[arrived_++] = entry;
    M::touch(&arrivals_[arrived_ - 1], sizeof(Entry), Access::kWrite);
  }

  void settle() {
    for (std::size_t i = 0; i < arrived_; ++i) heap_.push(arrivals_[i]);
    arrived_ = 0;
  }

  void refill() {
    settle();
    in_front_ = std::min(kBuffer, heap_.size());
    const auto front = std::span(front_).first(in_front_);
    heap_.pop(front);
    std::reverse(front.begin(), front.end());
  }

  // What every operation reads comes first, and shares a cache line with the
  // lock before it.
  std::size_t in_front_ = 0;
  std::size_t arrived_ = 0;
  WideHeap<Entry, M> heap_;
  std::array<Entry, kBuffer> front_;     // sorted, the first entry last
  std::array<Entry, kBuffer> arrivals_;  // in any order
};

}  // namespace weft::concurrent
