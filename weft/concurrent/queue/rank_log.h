// How relaxed a queue is: given what goes in and comes out, the rank of each
// entry that is popped (0 for the first one present) and how often the first
// one was passed over.
//
//   RankLog log(keys);  // keys are 0 … keys-1, each pushed at most once a time
//   log.pushed(7);
//   const std::uint32_t rank = log.popped(7);
//
// A binary indexed tree counts the keys present (Fenwick, 1994).
//
// Threads: caller synchronises. Cost: O(log keys) a call.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "weft/base/error.h"

namespace weft::concurrent {

class RankLog {
 public:
  explicit RankLog(std::uint32_t keys) : tree_(keys + 1, 0) {}

  void pushed(std::uint32_t key) {
    add(key, 1);
    // A new first entry has been overtaken by nobody yet.
    if (key < first_) start_first(key);
  }

  // The number of smaller keys present. `key` must be present itself.
  std::uint32_t popped(std::uint32_t key) {
    std::uint32_t rank = 0;
    for (std::uint32_t i = key; i != 0; i &= i - 1) rank += tree_[i];
    add(key, -1);
    count(ranks_, rank);
    if (rank != 0) {
      ++overtaken_;
    } else {
      count(overtakings_, overtaken_);
      start_first(present_ == 0 ? kNone : smallest());
    }
    return rank;
  }

  // [r]: how many pops had rank r.
  const std::vector<std::uint64_t>& ranks() const { return ranks_; }
  // [i]: how many entries, while they were the first one, saw i others popped.
  const std::vector<std::uint64_t>& overtakings() const { return overtakings_; }

  static double mean(const std::vector<std::uint64_t>& histogram) {
    double sum = 0;
    double total = 0;
    for (std::size_t i = 0; i < histogram.size(); ++i) {
      total += static_cast<double>(histogram[i]);
      sum += static_cast<double>(i) * static_cast<double>(histogram[i]);
    }
    return total == 0 ? 0 : sum / total;
  }

  // The share of entries that are `least` or more.
  static double tail(const std::vector<std::uint64_t>& histogram,
                     std::size_t least) {
    double beyond = 0;
    double total = 0;
    for (std::size_t i = 0; i < histogram.size(); ++i) {
      total += static_cast<double>(histogram[i]);
      if (i >= least) beyond += static_cast<double>(histogram[i]);
    }
    return total == 0 ? 0 : beyond / total;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  static void count(std::vector<std::uint64_t>& histogram,
                    std::uint64_t value) {
    if (histogram.size() <= value) histogram.resize(value + 1, 0);
    ++histogram[value];
  }

  void start_first(std::uint32_t key) {
    first_ = key;
    overtaken_ = 0;
  }

  void add(std::uint32_t key, int change) {
    WEFT_CHECK(key + 1 < tree_.size(), "key {} is not below {}", key,
               tree_.size() - 1);
    for (std::uint32_t i = key + 1; i < tree_.size(); i += i & (~i + 1))
      tree_[i] += static_cast<std::uint32_t>(change);
    present_ += static_cast<std::uint32_t>(change);
  }

  // The first key present: descends through the tree's powers of two.
  std::uint32_t smallest() const {
    std::uint32_t before = 0;
    const auto size = static_cast<std::uint32_t>(tree_.size());
    for (std::uint32_t step = std::bit_floor(size - 1); step != 0; step /= 2)
      if (before + step < size && tree_[before + step] == 0) before += step;
    return before;
  }

  std::vector<std::uint32_t> tree_;
  std::uint32_t present_ = 0;
  std::uint32_t first_ = kNone;
  std::uint64_t overtaken_ = 0;
  std::vector<std::uint64_t> ranks_;
  std::vector<std::uint64_t> overtakings_;
};

}  // namespace weft::concurrent
