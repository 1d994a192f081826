// Messages of one operation as they come to the rank that collects them: all of
// them, or as many as it cares to wait for.
//
// Threads: tasks of the network's thread. It stays where it is made until
// nothing is under way: see rest().
#pragma once

#include <cstddef>
#include <exception>
#include <span>
#include <vector>

#include "weft/comm/codec/bytes.h"
#include "weft/comm/transport/communicator.h"
#include "weft/comm/transport/task_signal.h"

namespace weft {

// Whether messages come whole, or as gradients of which parts may be lost:
// values of f32, each NaN where it has not come.
enum class Completeness { kWhole, kInPart };

// Whether each sender is told, by a message without bytes, that its own is
// there.
enum class Receipts { kNone, kGiven };

// How long to wait for the rest, once some are there.
struct Quorum {
  int least = 0;        // that must have come; 0: all
  double deadline = 0;  // seconds after the first one came
};

class Arrivals {
 public:
  // Receives from now on, at most `most` bytes from each rank of `from`; of
  // what comes in part, that many.
  Arrivals(Channel channel, std::span<const int> from, std::size_t most,
           Quorum quorum, Completeness completeness = Completeness::kWhole,
           Receipts receipts = Receipts::kNone);
  Arrivals(const Arrivals&) = delete;
  Arrivals& operator=(const Arrivals&) = delete;

  // What this rank has itself to say, which takes no message.
  void add_own(std::span<const std::byte> message);

  // Ends when there are enough. Throws what a transfer throws.
  Task<> enough();
  struct Message {
    int from = 0;
    Bytes bytes = {};
    bool is_there = false;
  };
  // In the order of ranks, own included; some may not be there.
  const std::vector<Message>& messages() const { return messages_; }
  bool is_complete() const { return arrived_ == messages_.size(); }
  // Whether all have come, and their senders been told: nothing is under way,
  // and nothing has failed that rest() would throw.
  bool is_over() const;
  // What came until now is kept, and what comes later is not.
  void close() { is_closed_ = true; }

  // Ends when all have come, of which nobody needs the late ones any more, and
  // their senders have been told. Throws what a transfer throws.
  Task<> rest();

 private:
  Task<> receive(std::size_t index, std::size_t most);
  Task<> receive_from(int rank, Bytes& room);
  Task<> ring();
  void count_one();

  Channel channel_;
  Quorum quorum_;
  Completeness completeness_;
  Receipts receipts_;
  std::vector<Message> messages_;
  std::size_t arrived_ = 0;
  std::size_t answered_ = 0;  // of those that were received
  bool is_late_ = false;      // the deadline has passed
  bool is_closed_ = false;
  std::exception_ptr failure_;
  TaskSignal changed_;
  Task<> timer_;
  std::vector<Task<>> receiving_;  // comes last: their frames use what is above
};

}  // namespace weft
