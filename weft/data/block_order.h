// The order of examples that lie in blocks (DataDescription::blocks): each
// epoch shuffles the blocks, and within so many of them as are mixed the
// examples, one group of blocks after the other. What a batch is made of then
// lies in few blocks.
//
// Any place is known without those before it, from (seed, epoch).
//
// Threads: caller synchronises.
// Cost:    O(blocks) for the first place of an epoch, O(log blocks) for others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

class BlockOrder {
 public:
  // `ends` of the blocks, the last of which is the number of examples; `mixed`
  // is at least 1.
  BlockOrder(std::vector<std::int64_t> ends, std::int64_t mixed,
             std::uint64_t seed);

  // The examples at `place` of an epoch and behind it, as many as `rows` has.
  void pick(std::uint32_t epoch, std::int64_t place,
            std::span<std::int64_t> rows);

 private:
  void prepare(std::uint32_t epoch);
  std::int64_t example_at(std::int64_t place) const;
  std::int64_t begin_of(std::int64_t block) const;

  std::vector<std::int64_t> ends_;
  std::int64_t mixed_;
  std::uint64_t seed_;
  // They are those of one epoch: the blocks in their order, and up to which
  // place each reaches if none were mixed.
  std::int64_t epoch_ = -1;
  std::vector<std::int64_t> order_;
  std::vector<std::int64_t> reach_;
};

}  // namespace weft
