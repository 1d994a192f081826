// What a rank begins next of what it has to send, by priority: while so many
// bytes are under way others wait, and the most urgent goes next. Without such
// a bound whatever was handed to the network goes in the order of handing
// (Jayarajan et al., "Priority-based Parameter Propagation for Distributed DNN
// Training", MLSys 2019, section 4).
//
// It is for what waits for nobody that this holds back: of messages, for those
// whose receivers listen before they wait for anything else.
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

class CreditQueue {
 public:
  // `credit`: bytes under way, one piece of work at least; 0: any number.
  CreditQueue(Transport& transport, std::int64_t credit)
      : credit_(static_cast<std::uint64_t>(credit)), changed_(transport) {}
  CreditQueue(const CreditQueue&) = delete;
  CreditQueue& operator=(const CreditQueue&) = delete;

  // Runs `work`, which moves so many bytes, when its turn has come. The higher
  // priority goes first, and among equals the one that was here first. Throws
  // what `work` throws, and where the network fails before its turn, that.
  Task<> pass(int priority, std::size_t bytes, Task<> work);

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

// A message, as work. `bytes` must live until it is over.
Task<> send_message(Channel channel, int to, std::span<const std::byte> bytes);
// The same, over when whoever got it has sent a message without bytes back:
// what is under way then is all that has not arrived, wherever on the way it
// waits.
Task<> send_for_receipt(Channel channel, int to,
                        std::span<const std::byte> bytes);
// The same as send_message() for one that may arrive in part.
Task<> send_lossy_message(Channel channel, int to,
                          std::span<const std::byte> bytes);

}  // namespace weft
