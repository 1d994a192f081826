// What a transaction will write when it commits: found by address, in the order
// of the first writes.
//
// Most reads are of words that were not written: one bit per hash of an address
// answers them. A few entries are searched one by one; more get an index.
//
// Threads: one.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "weft/concurrent/stm/cell.h"

namespace weft::concurrent {

template <Memory M>
class WriteSet {
 public:
  struct Entry {
    Word<M>* word;
    Word<M>* lock;
    std::uint64_t value;
  };

  // Null where the word has not been written.
  Entry* find(const Word<M>& word) {
    const std::uint64_t hash = hash_of(word);
    if ((filter_ & bit(hash)) == 0) return nullptr;
    return index_.empty() ? find_one_by_one(word) : find_in_index(word, hash);
  }

  // A word that find() did not find.
  void add(Word<M>& word, Word<M>& lock, std::uint64_t value) {
    if (entries_.size() >= kFewEntries) make_room_in_index();
    entries_.push_back({&word, &lock, value});
    filter_ |= bit(hash_of(word));
    if (!index_.empty()) insert(static_cast<std::uint32_t>(entries_.size()));
  }

  void clear() {
    entries_.clear();
    index_.clear();
    filter_ = 0;
  }

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  static constexpr std::size_t kFewEntries = 12;

  static std::uint64_t hash_of(const Word<M>& word) {
    return std::bit_cast<std::uintptr_t>(&word) * 0x9e3779b97f4a7c15U;
  }
  static std::uint64_t bit(std::uint64_t hash) {
    return std::uint64_t{1} << (hash >> 58U);
  }

  Entry* find_one_by_one(const Word<M>& word) {
    for (Entry& entry : entries_)
      if (entry.word == &word) return &entry;
    return nullptr;
  }

  // Open addressing with room for twice the entries; 0 is an empty place, else
  // 1 + the entry's number.
  Entry* find_in_index(const Word<M>& word, std::uint64_t hash) {
    const std::size_t mask = index_.size() - 1;
    for (std::size_t at = (hash >> 20U) & mask; index_[at] != 0;
         at = (at + 1) & mask)
      if (Entry& entry = entries_[index_[at] - 1]; entry.word == &word)
        return &entry;
    return nullptr;
  }

  void make_room_in_index() {
    if (2 * (entries_.size() + 1) <= index_.size()) return;
    index_.assign(std::bit_ceil(4 * (entries_.size() + 1)), 0);
    for (std::uint32_t i = 1; i <= entries_.size(); ++i) insert(i);
  }

  void insert(std::uint32_t number) {
    const std::size_t mask = index_.size() - 1;
    std::size_t at = (hash_of(*entries_[number - 1].word) >> 20U) & mask;
    while (index_[at] != 0) at = (at + 1) & mask;
    index_[at] = number;
  }

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> index_;
  std::uint64_t filter_ = 0;
};

}  // namespace weft::concurrent
