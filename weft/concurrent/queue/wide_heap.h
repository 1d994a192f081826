// A heap whose nodes have eight children: a third of a binary heap's levels,
// and the children that a pop compares lie on one or two cache lines.
//
// Nodes are numbered so that siblings form an aligned family: the root is
// node 7, and node j has the eight nodes of family j - 6 as children.
//
// Threads: caller synchronises; memory.touch() is told of what is accessed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "weft/concurrent/memory.h"

namespace weft::concurrent {

template <class Entry, Memory M>
class WideHeap {
 public:
  bool empty() const { return end_ == kRoot; }
  std::size_t size() const { return end_ - kRoot; }
  const Entry& top() const { return at(kRoot); }

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

  // Removes the first entry. The heap must not be empty.
  Entry pop() {
    const Entry first = at(kRoot);
    const Entry last = at(--end_);
    std::size_t hole = kRoot;
    while (const std::size_t child = first_child_of(hole)) {
      if (!(at(child).key < last.key)) break;
      at(hole) = at(child);
      hole = child;
    }
    at(hole) = last;
    M::touch(&at(hole), sizeof(Entry), Access::kWrite);
    return first;
  }

 private:
  static constexpr std::size_t kArity = 8;
  static constexpr std::size_t kRoot = kArity - 1;
  static constexpr std::size_t kFamilyBytes = kArity * sizeof(Entry);
  static constexpr std::size_t kAlignment =
      kFamilyBytes % 64 == 0 ? 64 : alignof(Entry);

  struct alignas(kAlignment) Family {
    Entry members[kArity];
  };

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

  std::vector<Family> families_ = std::vector<Family>(1);
  std::size_t end_ = kRoot;
};

}  // namespace weft::concurrent
