// Whether a transaction may be running in software: while none is, those in
// hardware need not keep the locks.
//
// Who runs in software enters its epoch, and then announces itself here. To
// take that back, one looks whether anybody is inside of an epoch; a mark of
// one's own is there meanwhile, and only if it still is when all have been
// looked at does the word go back to "nobody". Who enters after the look finds
// the mark, or nobody, and announces itself; who entered before it is seen.
//
// The word is only written when its answer changes, and when it is taken back:
// software that runs all the time shares nothing here.
//
// Threads: all at once.
#pragma once

#include <cstdint>

#include "weft/concurrent/cache_line.h"
#include "weft/concurrent/stm/cell.h"
#include "weft/concurrent/stm/epochs.h"

namespace weft::concurrent {

template <Memory M>
class SoftwarePresence {
 public:
  bool is_possible() const { return word_->load() != kNobody; }

  // From inside of an epoch, before anything is read.
  void announce() {
    if (word_->load() != kSomebody) word_->store(kSomebody);
  }

  // Is called from outside.
  void take_back(const Epochs<M>& epochs, std::uint32_t member) {
    if (epochs.is_anybody_inside()) return;
    const std::uint64_t mark = kMarks + member;
    std::uint64_t expected = kSomebody;
    if (!word_->compare_exchange_strong(expected, mark)) return;
    expected = mark;
    word_->compare_exchange_strong(
        expected, epochs.is_anybody_inside() ? kSomebody : kNobody);
  }

 private:
  static constexpr std::uint64_t kNobody = 0;
  static constexpr std::uint64_t kSomebody = 1;
  static constexpr std::uint64_t kMarks = 2;

  CacheAligned<Word<M>> word_;
};

}  // namespace weft::concurrent
