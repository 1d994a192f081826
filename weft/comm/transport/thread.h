// Ranks that are threads of this process.
//
//   ThreadWorld world(4);
//   world.run([](Transport& transport) { … });   // one thread per rank
//
// A message whose receiver waits for it is copied once, straight to its place.
// For tests, a world can deliver late and in another order (never another
// order between messages of the same sender, receiver and tag).
//
// Threads: each endpoint as Transport says; the world is made for that.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "weft/comm/transport/transport.h"

namespace weft {

struct ThreadWorldOptions {
  // Messages are held back for a random time of up to this (seconds).
  double most_delay = 0;
  std::uint64_t seed = 0;  // of the delays
  // A rank that is killed as it sends for the so manieth time: it leaves, and
  // all that it was doing fails. Rank -1: none.
  struct Death {
    int rank = -1;
    std::uint64_t sends = 0;
  };
  Death death = {};
  // One host name per rank; empty: all on one.
  std::vector<std::string> hosts = {};
};

class ThreadWorld {
 public:
  // There must be at least one rank.
  explicit ThreadWorld(int size, ThreadWorldOptions options = {});
  ~ThreadWorld();

  // The network as `rank` sees it. Lives as long as the world.
  Transport& endpoint(int rank);
  // The rank is no more: those who wait for it, or will, fail at once.
  void leave(int rank, const std::string& reason);

  // Calls `body` once per rank, each on a thread of its own, and waits for
  // all. A rank that throws leaves; what the first to fail threw is thrown
  // again.
  void run(const std::function<void(Transport&)>& body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft
