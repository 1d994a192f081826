// Which parts of a message have come: parts of kPartBytes, the last one
// shorter.
//
// Threads: a value type.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace weft {

class PartMap {
 public:
  // What a datagram carries: with its headers it fits a frame of Ethernet. It
  // is whole values of every dtype, so that a value has come or has not.
  static constexpr std::size_t kPartBytes = 1344;

  // Nothing has come of a message of so many bytes.
  void reset(std::size_t bytes) {
    bytes_ = bytes;
    came_.assign((bytes + kPartBytes - 1) / kPartBytes, false);
    count_ = 0;
  }
  std::size_t parts() const { return came_.size(); }
  std::size_t came() const { return count_; }
  bool is_complete() const { return count_ == came_.size(); }
  bool has(std::size_t part) const { return came_[part]; }
  // The bytes of a part, and where they begin.
  std::size_t begin(std::size_t part) const { return part * kPartBytes; }
  std::size_t size(std::size_t part) const {
    return std::min(kPartBytes, bytes_ - begin(part));
  }

  void mark(std::size_t part) {
    count_ += came_[part] ? 0 : 1;
    came_[part] = true;
  }
  void mark_all() {
    came_.assign(came_.size(), true);
    count_ = came_.size();
  }

 private:
  std::size_t bytes_ = 0;
  std::size_t count_ = 0;
  std::vector<bool> came_;
};

}  // namespace weft
