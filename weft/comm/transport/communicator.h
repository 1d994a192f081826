// Groups of ranks, and the channels that operations of a group run over.
//
// All ranks of a group enter the same operations in the same order. Each gets
// a channel of its own, so several may be in flight without mixing, in any
// order of completion. Ranks that disagree about what they enter never mix
// data: the tag of an operation depends on what it is, and the engine reports
// both sides (engine.h).
//
// Threads: those of the transport.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/comm/transport/ranks.h"
#include "weft/comm/transport/task.h"
#include "weft/comm/transport/transport.h"

namespace weft {

// What all ranks of an operation must agree on.
struct OperationInfo {
  std::string operation;  // "all_reduce(ring)"
  std::string tensor;     // "f32[36864] 'conv1.weight'"
  int priority = 0;       // of its messages; not compared
};

// An operation in words, once, to be entered many times.
class NamedOperation {
 public:
  explicit NamedOperation(const OperationInfo& info);

 private:
  friend class Communicator;
  std::string text_;
  std::uint32_t hash_;
};

// What an algorithm sees of the network: the ranks of its group, numbered from
// 0, and messages among them that belong to this operation alone.
class Channel {
 public:
  int rank() const { return rank_; }
  int size() const { return members_.size(); }
  // A rank counted on around the ring: -1 is the last one, size() the first.
  int around(int rank) const { return (rank + size()) % size(); }

  // The members' ranks on the transport.
  const Ranks& members() const { return members_; }

  // Messages between two ranks arrive in the order in which they are sent.
  Transfer send(int to, std::span<const std::byte> bytes) const {
    return {*transport_,  Transfer::Kind::kSend,
            route(to),    const_cast<std::byte*>(bytes.data()),
            bytes.size(), operation_};
  }
  // Room for a message of at most this size.
  Transfer receive(int from, std::span<std::byte> room) const {
    return {*transport_, Transfer::Kind::kReceive,
            route(from), room.data(),
            room.size(), operation_};
  }
  // The same for a message of which parts may be lost on the way, where the
  // transport loses any: `room` is as long as the message, and `came` says what
  // has come. It must live as long.
  Transfer send_lossy(int to, std::span<const std::byte> bytes) const {
    return {*transport_,  Transfer::Kind::kSend,
            route(to),    const_cast<std::byte*>(bytes.data()),
            bytes.size(), operation_,
            nullptr,      {.is_allowed = true}};
  }
  Transfer receive_lossy(int from, std::span<std::byte> room,
                         PartMap& came) const {
    return {*transport_, Transfer::Kind::kReceive,
            route(from), room.data(),
            room.size(), operation_,
            nullptr,     {.is_allowed = true, .came = &came}};
  }
  // Whether messages of at most this size can be folded; see Transport.
  bool can_fold(int from, std::size_t bytes) const {
    return transport_->can_fold(members_[from], bytes);
  }
  // Is to be awaited after computing that takes `seconds` in a simulated world.
  Pause pause(double seconds) const { return {*transport_, seconds}; }

  // The same operation among some of its members: positions in this channel,
  // which must include this rank's own.
  Channel among(std::span<const int> positions) const;

  Transport& transport() const { return *transport_; }
  const EnteredOperation& operation() const { return *operation_; }

 private:
  friend class Communicator;
  friend class Transfers;
  Channel() = default;
  Transfer::Route route(int member) const {
    return {members_[member], tag_, priority_};
  }

  Transport* transport_ = nullptr;
  Ranks members_;
  std::shared_ptr<const EnteredOperation> operation_;
  int rank_ = 0;
  Tag tag_ = 0;
  int priority_ = 0;
};

// Several messages of one channel under way together.
class Transfers {
 public:
  explicit Transfers(Channel channel) : channel_(std::move(channel)) {}

  void send(int to, std::span<const std::byte> bytes) {
    start(Transfer::Kind::kSend, to, const_cast<std::byte*>(bytes.data()),
          bytes.size());
  }
  void receive(int from, std::span<std::byte> room) {
    start(Transfer::Kind::kReceive, from, room.data(), room.size());
  }
  // Combines with what is in `into`; where can_fold().
  void fold(int from, std::span<std::byte> into, Fold fold) {
    start(Transfer::Kind::kReceive, from, into.data(), into.size(), fold);
  }
  // They may be awaited in any order.
  Transfer& operator[](std::size_t index) { return transfers_[index]; }
  // Ends with the last of them.
  Task<> all() {
    for (Transfer& transfer : transfers_) co_await transfer;
  }

 private:
  void start(Transfer::Kind kind, int peer, std::byte* data, std::size_t bytes,
             Fold fold = nullptr) {
    transfers_.emplace_back(*channel_.transport_, kind, channel_.route(peer),
                            data, bytes, channel_.operation_, fold);
  }

  Channel channel_;
  std::deque<Transfer> transfers_;
};

class Communicator {
 public:
  // All ranks. One per transport: a second would use the same tags.
  explicit Communicator(Transport& transport);

  int rank() const { return rank_; }
  int size() const { return members_.size(); }
  const Ranks& members() const { return members_; }
  Transport& transport() const { return *transport_; }

  // Enters the next operation.
  Channel open(const OperationInfo& info) {
    return open(NamedOperation(info), info.priority);
  }
  // `priority` is that of its messages, and may be another each time.
  Channel open(const NamedOperation& operation, int priority = 0);

  // A group whose operations are independent of this one's. Every member of
  // this communicator calls it, at the same point among its other calls, with
  // the part of the members (positions here) that this rank belongs to; the
  // parts are disjoint. A group is released with the last copy of what is
  // returned, on all of its ranks between the same calls and when all its
  // operations are over; 14 may live at a time per transport.
  Communicator split(std::span<const int> positions);

 private:
  // Which groups live, of one transport.
  struct Groups;
  class Lease;

  Communicator() = default;

  Transport* transport_ = nullptr;
  Ranks members_;
  std::shared_ptr<Groups> groups_;
  std::shared_ptr<const Lease> lease_;  // null for all ranks
  int rank_ = 0;
  std::uint32_t context_ = 0;
  std::uint32_t operations_ = 0;  // entered
};

}  // namespace weft
