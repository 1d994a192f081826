// The messages of a rank that may arrive in part: as datagrams, from and to all
// others. That all parts of one have been sent is said over TCP, so that a
// receiver who hears none of them does not wait for ever.
//
// Source: Damaskinos et al., "AGGREGATHOR: Byzantine Machine Learning via
// Robust Gradient Aggregation", MLSys 2019, section 3.3.
// Threads: the transport's.
#pragma once

#include <map>
#include <optional>
#include <poll.h>
#include <vector>

#include "weft/comm/tcp/datagram_socket.h"
#include "weft/comm/tcp/lossy_inbox.h"

namespace weft::tcp {

// Both in seconds.
struct DatagramTimes {
  double silence = 10e-3;  // as LossyInbox
  double pause = 10e-6;    // between two datagrams, on average
};

class Datagrams {
 public:
  struct Peer {
    int rank = 0;
    Address address;
    std::optional<DatagramKeys> keys;
  };
  // A message of which all parts have been sent.
  struct Sent {
    int peer = 0;
    Tag tag = 0;
    std::uint32_t message = 0;
  };

  Datagrams(DatagramSocket socket, int rank, std::vector<Peer> peers,
            const DatagramTimes& times);

  void start(Transfer& transfer, double now, std::vector<Outcome>& over);
  void forget(const Transfer& transfer);

  // Sends what can be sent now, the most urgent first; who was sent all of a
  // message is to be told so.
  void write(double now, std::vector<Outcome>& over, std::vector<Sent>& sent);
  void read(double now, std::vector<Outcome>& over);
  void sender_is_done(const Sent& sent, double now, std::vector<Outcome>& over);
  void expire(double now, std::vector<Outcome>& over);
  // When there is something to expire, or to send after a pause.
  double next_moment() const;
  pollfd wanted() const;

  // A rank is lost: all that wait for it, or were to be sent to it.
  std::vector<Transfer*> end(int peer);

 private:
  struct Side {
    Address address;
    DatagramSealer sealer;
    DatagramOpener opener;
    LossyInbox inbox;
    std::map<Tag, std::uint32_t> sent = {};  // messages so far
  };
  struct Outgoing {
    Transfer* transfer = nullptr;
    std::uint32_t message = 0;
    std::size_t next_part = 0;
  };
  // The most urgent is the least, and among equals the oldest.
  using Turn = std::pair<int, std::uint64_t>;

  Side& side(int rank) { return *sides_[static_cast<std::size_t>(rank)]; }
  // False when the system takes no more, or a pause is due.
  bool send_parts(Outgoing& outgoing);

  DatagramSocket socket_;
  std::vector<std::optional<Side>> sides_;  // by rank; none to itself
  std::map<Turn, Outgoing> outgoing_;
  std::uint64_t number_ = 0;
  double pause_;
  double may_send_at_ = 0;  // the next datagram
  double now_ = 0;          // as write() was told
  bool is_full_ = false;    // the system took none when it was asked last
  Bytes sealed_;            // that was not sent yet, if any
  Bytes room_;
};

}  // namespace weft::tcp
