// The messages that a rank sends, by their priority: while so many bytes are
// under way others wait, and the most urgent goes next. Without such a bound
// whatever was handed to the network goes in the order of handing (Jayarajan et
// al., "Priority-based Parameter Propagation for Distributed DNN Training",
// MLSys 2019, section 4).
//
// It is for messages whose receivers wait for nobody before they listen: of
// others the urgent one might wait for what it holds back.
//
// Threads: tasks of the network's thread.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <utility>

#include "weft/comm/transport/communicator.h"
#include "weft/comm/transport/task_signal.h"

namespace weft {

class SendQueue {
 public:
  // `credit`: bytes under way, one message at least; 0: any number.
  explicit SendQueue(std::int64_t credit)
      : credit_(static_cast<std::uint64_t>(credit)) {}
  SendQueue(const SendQueue&) = delete;
  SendQueue& operator=(const SendQueue&) = delete;

  // Ends when the message has left. The higher priority goes first, and among
  // equals the one that was here first. Throws what the transfer throws.
  Task<> send(Channel channel, int to, std::span<const std::byte> bytes,
              int priority);

 private:
  // The most urgent is the least.
  using Place = std::pair<int, std::uint64_t>;
  bool may_go(const Place& place, std::size_t bytes) const;

  std::uint64_t credit_;
  std::uint64_t under_way_ = 0;
  std::uint64_t next_ = 0;
  std::set<Place> waiting_;
  TaskSignal changed_;
};

}  // namespace weft
