// An engine on a thread of its own: communication while the caller computes.
//
//   AsyncEngine network(transport);
//   auto sum = network.submit([&] {
//     return all_reduce(communicator.open(…), …);
//   });
//   …                    // computing
//   network.wait(sum);   // its data is here
//
// The transport, and all communicators on it, belong to that thread from then
// on: channels are opened inside of what is submitted. Operations start in the
// order in which they are submitted, which must be the same on all ranks.
//
// Threads: submit(), wait(), fail() and traffic() from any.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "weft/comm/transport/engine.h"

namespace weft {

// What has been moved since the engine began.
struct Traffic {
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  double busy_seconds = 0;  // with at least one operation under way
};

class AsyncEngine {
 public:
  // The transport must outlive the engine, and must not be a simulated one.
  explicit AsyncEngine(Transport& transport, const EngineOptions& options = {});
  // Operations under way are given up, and other ranks told so: wait for what
  // matters first.
  ~AsyncEngine();
  AsyncEngine(const AsyncEngine&) = delete;
  AsyncEngine& operator=(const AsyncEngine&) = delete;

  struct State;
  using Operation = std::shared_ptr<State>;

  // `make` is called on the network's thread; what the task refers to must
  // live until the operation is over.
  Operation submit(std::function<Task<>()> make);
  // Returns when it is over; throws what it threw, as an Error.
  void wait(const Operation& operation);

  // Tells all ranks why this one ends: for failures outside of operations.
  void fail(const Error& error);

  Traffic traffic() const;

 private:
  void serve();
  // Starts what has been submitted. False when it is time to end.
  bool start_submitted(Engine& engine);
  void start(Engine& engine, const Operation& operation);
  // Passes on the ends of operations.
  void collect();
  void give_up(Engine& engine);
  void count(double since);
  Error failure_of(const std::exception_ptr& thrown) const;
  void end(const Operation& operation, std::optional<Error> failure);

  Transport& transport_;
  const EngineOptions options_;
  std::vector<Operation> under_way_;  // of the network's thread

  mutable std::mutex mutex_;  // of all below
  std::condition_variable over_;
  std::deque<Operation> submitted_;
  Traffic traffic_;
  bool is_ending_ = false;

  std::thread thread_;
};

}  // namespace weft
