// The locks of transactions, each with the version of the words it guards.
//
// A lock is one word: the version, 51 bits; the number of the owner that holds
// it, 12 bits; and whether it is held. The version stays readable under the
// lock, so a transaction that meets its own lock need not look up what was
// there before.
//
// Words find their lock by address. Words that lie 8 MiB apart share one, and
// then conflict where they need not: a question of speed, not of correctness.
//
// Where: Dice, Shalev, Shavit, "Transactional Locking II", DISC 2006; with the
// version beside the owner as in Silo (SOSP 2013).
//
// Threads: all at once.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "weft/base/error.h"
#include "weft/concurrent/stm/cell.h"

namespace weft::concurrent {

struct LockWord {
  static constexpr int kOwnerBits = 12;
  static constexpr int kVersionShift = kOwnerBits + 1;
  static constexpr std::uint32_t kMostOwners = 1U << kOwnerBits;
  static constexpr std::uint64_t kMostVersion =
      (std::uint64_t{1} << (64 - kVersionShift)) - 1;

  static std::uint64_t free(std::uint64_t version) {
    return version << kVersionShift;
  }
  static std::uint64_t held(std::uint64_t version, std::uint32_t owner) {
    return version << kVersionShift | std::uint64_t{owner} << 1U | 1U;
  }
  static bool is_held(std::uint64_t word) { return (word & 1U) != 0; }
  static std::uint32_t owner(std::uint64_t word) {
    return static_cast<std::uint32_t>(word >> 1U) & (kMostOwners - 1);
  }
  static std::uint64_t version(std::uint64_t word) {
    return word >> kVersionShift;
  }
};

template <Memory M>
class LockTable {
 public:
  // 2^size_log2 locks of 8 bytes. Throws Error(kInvalidArgument) unless that is
  // from 2^0 to 2^30.
  explicit LockTable(int size_log2)
      : locks_(std::size_t{1} << checked(size_log2)),
        mask_(locks_.size() - 1) {}

  Word<M>& of(const void* address) {
    const auto place = std::bit_cast<std::uintptr_t>(address);
    return locks_[(place >> 3U) & mask_];
  }

 private:
  static int checked(int size_log2) {
    if (size_log2 < 0 || size_log2 > 30)
      throw Error(ErrorCode::kInvalidArgument, "LockTable",
                  "2^{} locks, not 2^0 to 2^30", size_log2);
    return size_log2;
  }

  std::vector<Word<M>> locks_;
  std::size_t mask_;
};

}  // namespace weft::concurrent
