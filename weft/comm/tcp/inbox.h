// What one rank sends us, matched with the receives that wait for it.
//
// A whole message that no receive waits for is kept, up to kWindow of them; an
// announced one stays with its sender until its receive is there. So a rank
// that lags keeps a bounded number of bytes, and receives may come in any order
// of tags without anybody waiting in a circle.
//
// Threads: the transport's.
#pragma once

#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "weft/comm/codec/bytes.h"
#include "weft/comm/tcp/outbox.h"

namespace weft::tcp {

// A transfer that is over.
struct Outcome {
  Transfer* transfer = nullptr;
  std::size_t bytes = 0;
  std::optional<Error> failure = {};
  bool is_in_part = false;  // Transfer::came() says what has come
};

// A receive and its message, which is copied where there is room for it.
Outcome copied(Transfer& transfer, std::span<const std::byte> message);

class Inbox {
 public:
  // What we answer goes through `answers`, which must outlive this.
  explicit Inbox(Outbox& answers) : answers_(&answers) {}

  // A receive that begins. It is over at once where its message is there.
  std::optional<Outcome> receive(Transfer& transfer);
  // A kMessage, kAnnounce, kPart or kWithdraw, and what is over with it. Throws
  // Error(kDataLoss) for one that does not fit what came before.
  std::optional<Outcome> take(const Frame& frame);
  // The receive is given up: what still comes for it is dropped.
  void forget(const Transfer& transfer);
  // Nothing will come any more: all receives that wait, in no order. What is
  // there by now may still be received.
  std::vector<Transfer*> end();

 private:
  struct Arrival {
    Bytes message;
    std::optional<std::uint32_t> announced = {};  // its id; no bytes are here
    std::uint64_t bytes = 0;
  };
  struct Flow {
    std::deque<Arrival> arrivals;
    std::deque<Transfer*> waiting;
  };
  // An announced message whose receive is there.
  struct Coming {
    Transfer* transfer = nullptr;  // null: its bytes are dropped
    std::uint64_t bytes = 0;
    std::uint64_t came = 0;
  };

  std::optional<Outcome> take_message(const Frame& frame);
  std::optional<Outcome> take_announced(const Frame& frame);
  std::optional<Outcome> take_part(const Frame& frame);
  std::optional<Outcome> withdraw(const Frame& frame);
  // The first receive that waits for `tag`; null if none does.
  Transfer* take_waiting(Tag tag);
  std::optional<Outcome> begin(std::uint32_t id, std::uint64_t bytes,
                               Transfer& transfer);
  void give_back(std::size_t bytes);

  Outbox* answers_;
  std::unordered_map<Tag, Flow> flows_;  // none of them is empty
  std::unordered_map<std::uint32_t, Coming> coming_;
  std::size_t kept_ = 0;       // of the window
  std::size_t announced_ = 0;  // that wait for a receive
  std::size_t taken_ = 0;      // of the window, and not given back yet
};

}  // namespace weft::tcp
