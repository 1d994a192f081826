// What one rank sends us of messages that may arrive in part, matched with the
// receives that wait for them.
//
// Messages of a tag are numbered on both sides, so that a message that is lost
// altogether is not taken for the next. A receive is over when all parts are
// there, or when none has come for a while: since the last one, or since its
// sender has said that it has sent all. Parts of messages that no receive waits
// for are kept, up to kWindow of bytes; what is beyond that is lost.
//
// Threads: the transport's.
#pragma once

#include <limits>
#include <map>
#include <unordered_map>
#include <vector>

#include "weft/comm/tcp/datagram.h"
#include "weft/comm/tcp/inbox.h"

namespace weft::tcp {

class LossyInbox {
 public:
  // `silence`: seconds without a part after which the rest is lost.
  explicit LossyInbox(double silence) : silence_(silence) {}

  // All of these add what is over to `over`; `now` is in seconds.
  void receive(Transfer& transfer, double now, std::vector<Outcome>& over);
  // What makes no sense is dropped.
  void take(const Datagram& datagram, double now, std::vector<Outcome>& over);
  // All parts of that message have been sent.
  void sender_is_done(Tag tag, std::uint32_t message, double now,
                      std::vector<Outcome>& over);
  // Ends the receives that nothing more comes for.
  void expire(double now, std::vector<Outcome>& over);
  // When there is something to expire.
  double next_expiry() const;

  // The receive is given up.
  void forget(const Transfer& transfer);
  // Nothing will come any more: all receives that wait.
  std::vector<Transfer*> end();

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  using Key = std::pair<Tag, std::uint32_t>;

  struct Early {
    std::uint32_t part = 0;
    std::uint64_t bytes = 0;  // of its message
    Bytes payload;
  };
  struct Message {
    Transfer* transfer = nullptr;
    double silent_at = kNever;      // while a receive waits
    bool is_sent = false;           // all of it
    std::vector<Early> early = {};  // before there is a receive
  };

  // The message, if a receive waits for it or will.
  Message* find(Tag tag, std::uint32_t number);
  void place(const Datagram& datagram, Message& message) const;
  // Ends it if it is complete.
  void look(const Key& key, double now, std::vector<Outcome>& over);

  double silence_;
  std::map<Key, Message> messages_;
  std::unordered_map<Tag, std::uint32_t> received_;  // receives so far
  std::size_t kept_ = 0;                             // bytes of early parts
};

}  // namespace weft::tcp
