// Which core holds which cache line, and when it can travel again.
//
// A line is held by one core, which may write it, or by several that may read
// it (MESI); all else must fetch it first. Caches never run full. Transfers of
// a line that one core holds take turns: each waits until the one before has
// ended and its core has had the line for its tenure.
//
// Threads: caller synchronises.
#pragma once

#include <bitset>
#include <cstdint>
#include <vector>

namespace weft::concurrent {

inline constexpr int kMostCores = 128;

struct CoherentLine {
  static constexpr std::int16_t kNobody = -1;

  std::uintptr_t number = 0;        // address / 64
  std::bitset<kMostCores> holders;  // who may read
  std::int16_t owner = kNobody;     // who may write: then the only holder
  bool is_dirty = false;            // the owner has written it
  std::uint64_t free_at = 0;        // when it can leave the core that has it
  std::uint64_t transfers = 0;
  std::uint64_t waited = 0;  // of all cores, beyond their transfers

  bool is_readable_by(int core) const {
    return holders.test(static_cast<std::size_t>(core));
  }
  void share_with(int core) {
    owner = kNobody;
    is_dirty = false;
    holders.set(static_cast<std::size_t>(core));
  }
  void give_to(int core) {
    owner = static_cast<std::int16_t>(core);
    is_dirty = false;
    holders.reset();
    holders.set(static_cast<std::size_t>(core));
  }
};

class CacheLines {
 public:
  static constexpr std::uintptr_t kBytes = 64;

  // The number of a line among all that were ever asked for.
  std::uint32_t find(std::uintptr_t number);

  // The reference is good until the next find().
  CoherentLine& operator[](std::uint32_t index) { return lines_[index]; }
  const std::vector<CoherentLine>& all() const { return lines_; }

 private:
  void grow();
  std::size_t slot_of(std::uintptr_t number) const;

  std::vector<CoherentLine> lines_;
  std::vector<std::uint32_t> slots_;  // open addressing; index + 1, or 0
};

}  // namespace weft::concurrent
