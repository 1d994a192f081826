// Messages of a rank to itself: copied, and kept until they are received.
//
// Threads: the transport's.
#pragma once

#include <deque>
#include <unordered_map>

#include "weft/comm/tcp/inbox.h"

namespace weft::tcp {

class OwnMessages {
 public:
  // A send is over at once; a receive where its message is there.
  void start(Transfer& transfer, std::vector<Outcome>& outcomes);
  // A receive that is given up.
  void forget(const Transfer& transfer);

 private:
  struct Flow {
    std::deque<Bytes> messages;
    std::deque<Transfer*> waiting;
  };
  std::unordered_map<Tag, Flow> flows_;
};

}  // namespace weft::tcp
