// Ranks in an order: the members of a group.
//
// Those that are evenly spaced, as nearly all groups are, take no list: where
// ranks are many and each has its groups, lists would grow with the square of
// their number.
//
// Threads: immutable value types.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "weft/base/error.h"

namespace weft {

class Ranks {
 public:
  // 0, 1, …, `size` - 1.
  explicit Ranks(int size = 0) : size_(size) {}
  explicit Ranks(std::vector<int> list);

  int size() const { return size_; }
  int operator[](int position) const {
    return list_ == nullptr ? first_ + position * stride_
                            : (*list_)[static_cast<std::size_t>(position)];
  }
  // Where `rank` stands, which must be one of them.
  int position_of(int rank) const;
  // Those at some positions, in their order.
  Ranks pick(std::span<const int> positions) const;
  std::vector<int> list() const;

 private:
  int first_ = 0;
  int stride_ = 1;
  int size_ = 0;
  std::shared_ptr<const std::vector<int>> list_;  // null: evenly spaced
};

}  // namespace weft
