// Messages to and from one rank of the same machine, through pipes of memory
// (shared_pipe.h): for a small message, several times faster than a library
// that first has to find out which network it goes to.
//
// A message that is too large for a pipe is announced in it, so that the order
// holds, and takes the network of the transport.
//
// A message that nobody waits for stays in the pipe, until a receive waits for
// one behind it: then it is put aside.
//
// Threads: the transport's.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "weft/comm/transport/shared_pipe.h"
#include "weft/comm/transport/transport.h"

namespace weft {

class Neighbour {
 public:
  Neighbour(PipeWriter out, PipeReader in) : out_(out), in_(in) {}

  // A send whose message is in the pipe, or a receive whose message has come.
  struct Outcome {
    Transfer* transfer = nullptr;
    std::size_t bytes = 0;  // more than its room: nothing was copied
    // The message is still to be received, over the network.
    bool is_announcement = false;
  };

  bool fits(std::size_t bytes) const { return bytes <= out_.most_bytes(); }
  // It is over at once where there is room in the pipe; otherwise it waits.
  std::optional<Outcome> send(Transfer& transfer);
  void announce(const Transfer& transfer);
  // It is over at once where its message is there; otherwise it waits.
  std::optional<Outcome> receive(Transfer& transfer);
  // Carries on what waits. The next that is over, if any.
  std::optional<Outcome> move();
  // Takes back one that waits. False if it does not.
  bool forget(const Transfer& transfer) noexcept;

 private:
  struct Queued {
    PacketHeader header;
    Transfer* transfer = nullptr;  // null for an announcement
  };
  struct PutAside {
    PacketHeader header;
    std::vector<std::byte> message;
  };

  std::optional<Outcome> send_queued();
  Outcome take_next(const PacketHeader& header, Transfer& transfer);

  PipeWriter out_;
  PipeReader in_;
  std::deque<Queued> queue_;        // no room for them yet
  std::vector<Transfer*> waiting_;  // receives, oldest first
  std::deque<PutAside> aside_;      // oldest first
};

}  // namespace weft
