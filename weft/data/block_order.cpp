#include "weft/data/block_order.h"

#include <algorithm>

#include "weft/base/permutation.h"

namespace weft {
namespace {

// Streams of random numbers; that of a group is kMixStream plus its number.
constexpr std::uint32_t kBlockStream = 0x626c6b31;  // "blk1"
constexpr std::uint32_t kMixStream = 0x6d697831;    // "mix1"

}  // namespace

BlockOrder::BlockOrder(std::vector<std::int64_t> ends, std::int64_t mixed,
                       std::uint64_t seed)
    : ends_(std::move(ends)), mixed_(mixed), seed_(seed) {
  WEFT_CHECK(!ends_.empty() && mixed_ >= 1);
}

std::int64_t BlockOrder::begin_of(std::int64_t block) const {
  return block == 0 ? 0 : ends_[static_cast<std::size_t>(block - 1)];
}

void BlockOrder::pick(std::uint32_t epoch, std::int64_t place,
                      std::span<std::int64_t> rows) {
  if (epoch_ != epoch) prepare(epoch);
  for (std::int64_t& row : rows) row = example_at(place++);
}

void BlockOrder::prepare(std::uint32_t epoch) {
  epoch_ = epoch;
  order_.clear();
  reach_.clear();
  const Permutation shuffled(ends_.size(), seed_, kBlockStream, epoch);
  std::int64_t reach = 0;
  for (std::uint64_t i = 0; i < ends_.size(); ++i) {
    const auto block = static_cast<std::int64_t>(shuffled(i));
    reach += ends_[static_cast<std::size_t>(block)] - begin_of(block);
    order_.push_back(block);
    reach_.push_back(reach);
  }
}

std::int64_t BlockOrder::example_at(std::int64_t place) const {
  const auto slot_of = [&](std::int64_t at) {
    return std::ranges::upper_bound(reach_, at) - reach_.begin();
  };
  const auto reach_before = [&](std::int64_t slot) {
    return slot == 0 ? 0 : reach_[static_cast<std::size_t>(slot - 1)];
  };
  const std::int64_t group = slot_of(place) / mixed_;
  const std::int64_t begin = reach_before(group * mixed_);
  const auto slots = static_cast<std::int64_t>(reach_.size());
  const std::int64_t end = reach_before(std::min((group + 1) * mixed_, slots));
  // A stream of its own for each group, or those of one size would be shuffled
  // alike.
  const Permutation mix(static_cast<std::uint64_t>(end - begin), seed_,
                        kMixStream + static_cast<std::uint32_t>(group),
                        static_cast<std::uint32_t>(epoch_));
  const std::int64_t at =
      begin +
      static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(place - begin)));
  const std::int64_t slot = slot_of(at);
  return begin_of(order_[static_cast<std::size_t>(slot)]) + at -
         reach_before(slot);
}

}  // namespace weft
