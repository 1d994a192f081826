// Those ranks of a network that this process is: one, or several on threads.
//
// Threads: one at a time, which need not be the one that made it.
#pragma once

#include <functional>
#include <memory>

#include "weft/comm/transport/thread.h"
#include "weft/comm/transport/transport.h"

namespace weft {

class LocalRanks {
 public:
  virtual ~LocalRanks() = default;
  LocalRanks() = default;
  LocalRanks(const LocalRanks&) = delete;
  LocalRanks& operator=(const LocalRanks&) = delete;

  // The lowest of them, how many they are, and how many there are of all
  // processes.
  virtual int first() const = 0;
  virtual int count() const = 0;
  virtual int size() const = 0;

  // Calls `body` for each of them, on threads of their own where there are
  // several, and waits for all. What the first to fail threw is thrown again.
  virtual void run(const std::function<void(Transport&)>& body) = 0;
};

// The one rank that this process is.
std::unique_ptr<LocalRanks> one_rank(std::unique_ptr<Transport> transport);
// All ranks of a network, threads of this process.
std::unique_ptr<LocalRanks> thread_ranks(int size,
                                         ThreadWorldOptions options = {});

}  // namespace weft
