// A heap whose nodes have eight children: a third of a binary heap's levels,
// and the children that a pop compares lie on one or two cache lines.
//
// Nodes are numbered so that siblings form an aligned family: the root is
// node 7, and node j has the eight nodes of family j - 6 as children.
//
// Threads: caller synchronises; memory.touch() is told of what is accessed. A
// Memory may bring an Allocator<T>, which nodes then come from.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "weft/concurrent/memory.h"

namespace weft::concurrent {

template <class M, class T>
struct AllocatorOf {
  using Type = std::allocator<T>;
};
template <class M, class T>
requires requires { typename M::template Allocator<T>; }
struct AllocatorOf<M, T> {
  using Type = typename M::template Allocator<T>;
};

template <class Entry, Memory M>
class WideHeap {
 public:
  bool empty() const { return end_ == kRoot; }
  std::size_t size() const { return end_ - kRoot; }

  // Makes room for `more` entries: those pushes do not throw. May throw
  // std::bad_alloc, and has then changed nothing.
  void reserve(std::size_t more) {
    const std::size_t families = (end_ + more + kArity - 1) / kArity;
    if (families <= families_.size()) return;
    families_.resize(std::max(families, 2 * families_.size()));
  }

  void push(const Entry& entry) {
    reserve(1);
    std::size_t hole = end_++;
    while (hole != kRoot) {
      const std::size_t parent = parent_of(hole);
      M::touch(&at(parent), sizeof(Entry), Access::kRead);
      if (!(entry.key < at(parent).key)) break;
      at(hole) = at(parent);
      hole = parent;
    }
    at(hole) = entry;
    M::touch(&at(hole), sizeof(Entry), Access::kWrite);
  }

  // Removes the first entries, as many as `firsts` has room for and at most
  // kMost, and writes them in order. The heap must have so many.
  //
  // Each pop moves one of the last entries to the root and lets it sink. A
  // sinking entry may follow the one before it at a distance of two levels, so
  // several sink at once, and the lines that they wait for arrive together.
  void pop(std::span<Entry> firsts) {
    end_ -= firsts.size();
    std::array<Entry, kMost> spare;
    // The last entries leave, whoever they are, and fill the holes that are
    // left by the first.
    for (std::size_t i = 0; i < firsts.size(); ++i) spare[i] = at(end_ + i);
    const auto comes_first = [](const Entry& a, const Entry& b) {
      return a.key < b.key;
    };
    std::size_t smallest = 0;
    std::size_t spares = firsts.size();
    std::sort(spare.begin(),
              spare.begin() + static_cast<std::ptrdiff_t>(spares), comes_first);
    SinkingEntries sinking;
    for (Entry& first : firsts) {
      if (!empty() && at(kRoot).key < spare[smallest].key) {
        first = at(kRoot);
        // The largest spare sinks; the smallest may be the next to come out.
        sinking.start(spare[--spares]);
        sinking.sink_one_level(*this);
        sinking.sink_one_level(*this);
      } else {
        first = spare[smallest++];
      }
    }
    while (!sinking.is_empty()) sinking.sink_one_level(*this);
  }

  static constexpr std::size_t kMost = 16;

 private:
  static constexpr std::size_t kArity = 8;
  static constexpr std::size_t kRoot = kArity - 1;
  static constexpr std::size_t kFamilyBytes = kArity * sizeof(Entry);
  static constexpr std::size_t kAlignment =
      kFamilyBytes % 64 == 0 ? 64 : alignof(Entry);

  struct alignas(kAlignment) Family {
    Entry members[kArity];
  };

  // Holes on their way down, and what will fill them; the lowest first.
  class SinkingEntries {
   public:
    bool is_empty() const { return count_ == 0; }
    void start(const Entry& entry) { sinkers_[count_++] = {kRoot, entry}; }

    void sink_one_level(WideHeap& heap) {
      std::size_t left = 0;
      for (std::size_t i = 0; i < count_; ++i)
        if (heap.sink(sinkers_[i].hole, sinkers_[i].entry))
          sinkers_[left++] = sinkers_[i];
      count_ = left;
    }

   private:
    struct Sinker {
      std::size_t hole;
      Entry entry;
    };
    std::array<Sinker, kMost> sinkers_;
    std::size_t count_ = 0;
  };

  // Moves the hole one level down, or fills it; whether it is still open.
  bool sink(std::size_t& hole, const Entry& entry) {
    const std::size_t child = first_child_of(hole);
    if (child == 0 || !(at(child).key < entry.key)) {
      at(hole) = entry;
      M::touch(&at(hole), sizeof(Entry), Access::kWrite);
      return false;
    }
    at(hole) = at(child);
    hole = child;
    if (const std::size_t next = family_below(hole); next < families_.size()) {
      __builtin_prefetch(&families_[next].members[0]);
      __builtin_prefetch(&families_[next].members[kArity - 1]);
    }
    return true;
  }

  static std::size_t family_below(std::size_t node) {
    return node - (kRoot - 1);
  }
  static std::size_t parent_of(std::size_t node) {
    return node / kArity + kRoot - 1;
  }

  Entry& at(std::size_t node) {
    return families_[node / kArity].members[node % kArity];
  }
  const Entry& at(std::size_t node) const {
    return families_[node / kArity].members[node % kArity];
  }

  // The child that comes first, or 0 if there is none.
  std::size_t first_child_of(std::size_t node) const {
    const std::size_t family = family_below(node);
    const std::size_t begin = family * kArity;
    if (begin >= end_) return 0;
    const Entry* members = families_[family].members;
    M::touch(members, kFamilyBytes, Access::kRead);
    if (begin + kArity <= end_) return begin + first_of_eight(members);
    std::size_t best = 0;
    for (std::size_t i = 1; begin + i < end_; ++i)
      if (members[i].key < members[best].key) best = i;
    return begin + best;
  }

  // A knockout: three rounds of comparisons that do not wait for each other,
  // on keys in registers.
  struct Player {
    decltype(Entry::key) key;
    std::size_t index;
  };
  static Player better(const Player& a, const Player& b) {
    const bool second = b.key < a.key;
    return {second ? b.key : a.key, second ? b.index : a.index};
  }
  static std::size_t first_of_eight(const Entry* members) {
    const auto pair = [members](std::size_t i) {
      return better({members[i].key, i}, {members[i + 1].key, i + 1});
    };
    return better(better(pair(0), pair(2)), better(pair(4), pair(6))).index;
  }

  using Families = std::vector<Family, typename AllocatorOf<M, Family>::Type>;
  Families families_ = Families(1);
  std::size_t end_ = kRoot;
};

}  // namespace weft::concurrent
