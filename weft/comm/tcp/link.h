// The connection to one rank with all that is under way on it.
//
// Threads: the transport's.
#pragma once

#include <string>
#include <vector>

#include "weft/comm/tcp/datagrams.h"
#include "weft/comm/tcp/inbox.h"
#include "weft/comm/tcp/outbox.h"
#include "weft/comm/tcp/socket.h"

namespace weft::tcp {

// A rank that was met, and how it is spoken to.
struct Connection {
  int rank = 0;
  Socket socket = {};
  RecordWriter writer = {};
  RecordReader reader = {};
  std::optional<DatagramKeys> datagram_keys = {};  // where the run has a key
};

// What has happened.
struct News {
  std::vector<Outcome> outcomes;
  std::vector<Notice> notices;
  std::vector<Datagrams::Sent> sent;  // by others, in datagrams
};

class Link {
 public:
  explicit Link(Connection connection);
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  int rank() const { return connection_.rank; }
  int descriptor() const { return connection_.socket.get(); }

  void start(Transfer& transfer, News& news);
  void forget(const Transfer& transfer);
  // Queues it and sends what can be sent now.
  void send_notice(const Notice& notice, News& news);
  // The same with what is said of a message that went in datagrams.
  void say_sent(const Datagrams::Sent& sent, News& news);

  // Sends and receives what can be moved now. After a notice nothing more is
  // received for now: it may say why the connection is about to end.
  void write(News& news);
  void read(News& news);
  bool wants_to_write() const {
    return can_write_ && !is_broken() &&
           (sent_ < out_.size() || !outbox_.is_empty());
  }

  // The connection ended, for a reason that is kept; what waits for it learns
  // of that by end().
  bool is_broken() const { return reason_.has_value(); }
  bool has_ended() const { return has_ended_; }
  void end(News& news);
  // Fails what waits for it elsewhere, for the same reason.
  void fail(Transfer& transfer, News& news) const;

  // Says that nothing more will be sent.
  void end_sending() { connection_.socket.end_sending(); }
  // Reads and drops what comes, so that closing is no reset, which could
  // destroy what the other side has not read. False once that has closed too.
  bool drain();

 private:
  void write_ahead(News& news);
  void take_records(News& news);
  void take(const Frame& frame, News& news);
  // Runs `body`; what it throws breaks the connection.
  template <class Body>
  void guard(Body&& body);

  Connection connection_;
  Outbox outbox_;
  Inbox inbox_;
  Bytes out_;             // written by the outbox
  std::size_t sent_ = 0;  // of these
  bool can_write_ = true;
  std::optional<Error> reason_;
  bool has_ended_ = false;
};

}  // namespace weft::tcp
