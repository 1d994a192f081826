// What waits to be sent to one rank, and which frame of it goes next.
//
// Notices go first, then answers to the other rank, then messages: those of
// higher priority before others, older ones before younger ones, and none of a
// tag before an older one of that tag. A message is over when its last byte
// was written, which is before it arrives.
//
// Threads: the transport's.
#pragma once

#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include "weft/comm/tcp/record.h"

namespace weft::tcp {

class Outbox {
 public:
  // Queues a send.
  void start(Transfer& transfer);
  // Takes back a send, of which parts may have left.
  void forget(const Transfer& transfer);
  // All sends that are not over, in no order; none is kept.
  std::vector<Transfer*> take_all();

  void notice(const Notice& notice);
  // Answers: message `id` may come; `bytes` were taken.
  void grant(std::uint32_t id);
  void credit(std::size_t bytes);
  // All parts of a message that went another way have been sent.
  void sent(Tag tag, std::uint32_t message);

  // The other rank's answers. Throw Error(kDataLoss) for a grant of what was
  // never announced and for more credit than was used.
  void granted(std::uint32_t id);
  void credited(std::uint64_t bytes);

  // Whether write_next() has something to write.
  bool is_empty() const {
    return notices_.empty() && answers_.empty() && ready_.empty();
  }
  // Appends the next frame to `out`. Gives the transfer that is over with it,
  // if one is. It must not be empty.
  Transfer* write_next(RecordWriter& records, Bytes& out);

 private:
  // The first in order goes first.
  struct Turn {
    int priority = 0;
    std::uint64_t number = 0;
    bool operator<(const Turn& other) const {
      return priority != other.priority ? priority > other.priority
                                        : number < other.number;
    }
  };
  struct Message {
    Transfer* transfer = nullptr;
    Turn turn;
    std::uint32_t id = 0;
    std::size_t sent = 0;
    bool is_granted = false;
  };
  // Messages of one tag of which nothing has left yet.
  struct Flow {
    std::size_t count = 0;
    int priority = 0;  // of the last
  };

  Transfer* write_message(RecordWriter& records, Bytes& out);
  Transfer* write_part(Message& message, RecordWriter& records, Bytes& out);
  void announce(Message message);
  void leaves(Tag tag);

  std::deque<Notice> notices_;
  std::deque<Frame> answers_;  // none of them has a payload
  std::map<Turn, Message> ready_;
  std::unordered_map<std::uint32_t, Message> announced_;  // by id
  std::unordered_map<Tag, Flow> flows_;
  std::uint64_t number_ = 0;   // of the next message
  std::uint32_t next_id_ = 0;  // of the next announcement
  std::size_t credit_ = kWindow;
};

}  // namespace weft::tcp
