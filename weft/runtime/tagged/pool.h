// How the workers of a run share what there is to do. Each keeps its own
// stack and works depth first; one that runs dry asks, and whoever has more
// than one call left gives away the oldest, which is likely the largest.
//
// Method:  receiver-initiated stealing from private stacks: Acar, Charguéraud
//          and Rainey, "Scheduling Parallel Programs by Work Stealing with
//          Private Deques", 2013.
// Threads: thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <vector>

#include "weft/runtime/tagged/frame.h"

namespace weft {

// One unit of work that is ready.
struct Item {
  Frame* frame;
  std::uint32_t work;
};

class WorkPool {
 public:
  // A new run of so many workers. One that `may_pause` is over when all of them
  // wait.
  void reset(int workers, bool may_pause = false);

  bool is_stopped() const {
    return is_stopped_.load(std::memory_order_relaxed);
  }
  // Whether a worker waits for more than is on offer.
  bool wants_work() const {
    return wanted_.load(std::memory_order_relaxed) > 0;
  }
  // Gives `item` to whichever worker waits, or asks next.
  void offer(Item item);
  // Waits for an item; nothing when the run is over. When all workers wait,
  // nothing can happen any more: an error of the graph.
  std::optional<Item> wait();

  // The run is over: the entry's activation is done, or an error occurred, of
  // which the first is kept.
  void finish();
  void fail(std::exception_ptr error);
  bool has_failed() const { return error_ != nullptr; }
  // Throws the error, if there is one.
  void rethrow() const;

 private:
  void stop_locked();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Item> offered_;
  std::atomic<int> wanted_{0};  // waiting workers less items on offer
  std::atomic<bool> is_stopped_{false};
  bool may_pause_ = false;
  int workers_ = 1;
  int waiting_ = 0;
  std::exception_ptr error_;
};

}  // namespace weft
