// How often each value came: exact while there are few of them, and then the
// frequent ones, each with the most that it may have come more often.
//
// The summary of Misra and Gries, "Finding repeated elements" (1982): where a
// new value finds no room, all counts fall by as much as makes room for half.
// It is the one of Space-Saving in another form, and merges with the same bound
// (Agarwal et al., "Mergeable summaries", PODS 2012): no count is too low by
// more than error(), which is at most 2 / capacity of all. Taking away the
// median count costs a constant time a value (Anderson et al., "A
// high-performance algorithm for identifying frequent items", IMC 2017).
//
// Values are told apart by their hashes of 64 bits.
//
// Threads: a value type.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/validation/state_bytes.h"

namespace weft::validation {

// Only the beginning of a longer value is kept, beside its hash and length.
inline constexpr std::size_t kMostKeptBytes = 512;

struct ValueCount {
  std::uint64_t hash = 0;
  std::uint64_t count = 0;
  double weight = 0;  // of its rows, where rows have weights
  std::string text = {};
  std::uint64_t bytes = 0;  // of the whole value
  bool is_string = false;   // whatever it looks like
};

class ValueCounts {
 public:
  explicit ValueCounts(std::size_t capacity) : capacity_(capacity) {}

  // Counts a value of this hash; false if there is no room for it: then
  // nothing has changed.
  bool add(std::uint64_t hash, std::string_view text, bool is_string,
           double weight) {
    std::size_t place = hash & mask_;
    for (;; place = (place + 1) & mask_) {
      if (slots_[place].hash == hash) {
        ++slots_[place].count;
        if (weight != 0) values_[slots_[place].value].weight += weight;
        return true;
      }
      if (slots_[place].hash == 0) break;
    }
    return insert(place, hash, text, is_string, weight);
  }
  // Brings where a value of this hash is counted into the cache.
  void prefetch(std::uint64_t hash) const {
    __builtin_prefetch(&slots_[hash & mask_]);
  }
  // The same as add() where there may be no room: rarer values give way.
  void add_frequent(std::uint64_t hash, std::string_view text, bool is_string,
                    double weight) {
    if (add(hash, text, is_string, weight)) return;
    make_room();
    add(hash, text, is_string, weight);
  }
  // False if the two together are more than there is room for: then nothing
  // has changed.
  bool merge(const ValueCounts& other);
  void merge_frequent(const ValueCounts& other);

  // True as long as nothing had to give way.
  bool is_exact() const { return error_ == 0; }
  std::uint64_t error() const { return error_; }
  std::size_t size() const { return values_.size() - free_.size(); }
  std::size_t capacity() const { return capacity_; }
  void grow(std::size_t capacity) { capacity_ = std::max(capacity_, capacity); }

  // In the order of their hashes, which does not depend on that of the rows.
  std::vector<ValueCount> values() const;

  void write(StateWriter& out) const;
  static ValueCounts read(StateReader& in);

 private:
  struct Slot {
    std::uint64_t hash = 0;  // 0: it is empty
    std::uint64_t count = 0;
    std::size_t value = 0;
  };

  // What of a value is not in its slot. Where rare values come and go, each
  // takes one line of the cache.
  struct alignas(64) Kept {
    std::string text = {};
    double weight = 0;
    std::uint64_t bytes = 0;
    bool is_string = false;
  };

  bool insert(std::size_t place, std::uint64_t hash, std::string_view text,
              bool is_string, double weight);
  void put(const Slot& slot);
  void rebuild(std::vector<ValueCount> all);
  void grow_slots();
  void make_room();
  const Slot* find(std::uint64_t hash) const;

  static constexpr std::size_t kFirstSlots = 64;
  std::size_t capacity_;
  std::size_t mask_ = kFirstSlots - 1;
  std::vector<Slot> slots_ = std::vector<Slot>(kFirstSlots);
  std::vector<Kept> values_;
  std::vector<std::size_t> free_;  // places of values that gave way
  std::uint64_t error_ = 0;
};

}  // namespace weft::validation
