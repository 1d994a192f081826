// Which bucket's collective begins next, the same on all workers: the most
// urgent of those whose gradients are there, while the bytes under way are
// bounded (Jayarajan et al., "Priority-based Parameter Propagation for
// Distributed DNN Training", MLSys 2019, for collectives).
//
// The workers of a collective wait for each other, so that each for itself must
// not hold one back: two workers that begin with different ones would wait for
// ever. So the first worker decides, by what it has, and tells the others,
// through a tree of messages of four bytes that run ahead of what they are
// about. A worker that has not come so far begins when it has.
//
// Threads: tasks of the network's thread.
// Errors:  Error(kDataLoss) for an announcement that makes no sense; what the
//          network throws passes through.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <vector>

#include "weft/comm/transport/communicator.h"
#include "weft/comm/transport/credit_queue.h"
#include "weft/train/sync/bucket.h"

namespace weft {

class Turns {
 public:
  // `group`: all workers, for announcements alone. Each step has so many
  // buckets; `credit` bytes of them are under way, one at least.
  Turns(Communicator group, std::size_t buckets, std::int64_t credit);
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // Runs the collective of a bucket, whose gradients are there, when its turn
  // has come. Steps follow each other: the buckets of one are over before any
  // of the next comes.
  Task<> pass(const Bucket& bucket, Task<> sum);

 private:
  bool decides() const { return group_.rank() == 0; }
  void begin_step();
  Task<> announce(Channel channel, std::uint32_t bucket, Task<> sum);
  Task<> follow(const Bucket& bucket, Task<> sum);
  Task<> listen(Channel channel, std::optional<Task<>> before);

  Communicator group_;
  std::size_t buckets_;
  CreditQueue queue_;               // of the worker that decides
  std::size_t came_ = 0;            // buckets of this step
  std::optional<Channel> channel_;  // of this step
  // What the others were told, and how far they have come with it.
  std::vector<std::uint32_t> announced_;
  std::size_t begun_ = 0;
  std::optional<Task<>> listening_;  // to this step's announcements
  std::exception_ptr failure_;
  TaskSignal changed_;
};

}  // namespace weft
