// The messages from one rank to another under one tag, in a simulated network.
//
// The k-th that is sent is for the k-th receive, whichever comes first.
//
// Threads: caller synchronises.
#pragma once

#include <list>

#include "weft/comm/codec/bytes.h"
#include "weft/comm/transport/transport.h"

namespace weft {

// Lives from the moment that it is sent, or waited for, until its receiver has
// it.
struct SimMessage {
  int from = 0;
  int to = 0;
  Tag tag = 0;
  int priority = 0;
  std::size_t size = 0;
  Transfer* sender = nullptr;    // until the send is over
  Transfer* receiver = nullptr;  // that waits for it
  // The payload, where the send is over and there is no receiver yet.
  Bytes bytes = {};
  int halves = 0;             // under way, on the way out and the way in
  bool is_held_back = false;  // by a random delay, by TCP, or by silence
  double began = 0;           // when it was sent
  PartMap came = {};          // of one that may arrive in part
  bool is_lossy = false;
  bool is_sent = false;
  bool is_claimed = false;    // by a receive, which may have been given up
  bool is_delivered = false;  // its payload is where the receiver wants it
  bool has_arrived = false;
};

class SimFlow {
 public:
  SimFlow() = default;
  SimFlow(const SimFlow&) = delete;
  SimFlow& operator=(const SimFlow&) = delete;

  // The next that is sent; references are good until pop().
  SimMessage& send() { return take(unsent_, unclaimed_); }
  // The next that is received.
  SimMessage& claim() { return take(unclaimed_, unsent_); }
  // Takes back a claim of what is not sent yet: the next receive has its turn.
  void withdraw(const SimMessage& message);

  // The first, where it has arrived and a receive is there, or was; else null.
  // One that has overtaken others waits for them.
  SimMessage* over();
  // Ends the first.
  void pop() { messages_.pop_front(); }
  bool is_empty() const { return messages_.empty(); }

 private:
  // A list keeps its elements where they are, whose addresses transfers and
  // errands hold.
  using Place = std::list<SimMessage>::iterator;

  // What stands at `own`, or a new one, for which the other side has to come.
  SimMessage& take(Place& own, Place& other);

  std::list<SimMessage> messages_;
  Place unsent_ = messages_.end();  // the first of them
  Place unclaimed_ = messages_.end();
};

}  // namespace weft
