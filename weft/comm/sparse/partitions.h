// How a vector is cut into parts that follow one another, one for each rank.
//
// Threads: a value type.
#pragma once

#include <cstdint>
#include <vector>

namespace weft {

class Partitions {
 public:
  // None: of no vector.
  Partitions() = default;
  // floor(size / parts) elements each, and what is left in the last.
  static Partitions even(std::uint64_t size, int parts);
  // Part i ends before ends[i], which ascend; parts may be empty.
  explicit Partitions(std::vector<std::uint64_t> ends);

  int count() const { return static_cast<int>(ends_.size()); }
  std::uint64_t begin(int part) const { return part == 0 ? 0 : end(part - 1); }
  std::uint64_t end(int part) const {
    return ends_[static_cast<std::size_t>(part)];
  }
  std::uint64_t size(int part) const { return end(part) - begin(part); }
  // How many elements the vector has.
  std::uint64_t whole() const { return ends_.empty() ? 0 : ends_.back(); }
  // How many elements the largest part has.
  std::uint64_t largest() const;

  bool operator==(const Partitions&) const = default;

 private:
  std::vector<std::uint64_t> ends_;
};

}  // namespace weft
