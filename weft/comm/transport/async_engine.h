// Communication while the caller computes.
//
//   const auto network = transport.start_engine({.timeout = 60});
//   auto sum = network->submit([&] {
//     return all_reduce(communicator.open(…), …);
//   });
//   …                     // computing
//   network->wait(sum);   // its data is here
//
// The transport, and all communicators on it, belong to the engine from then
// on: channels are opened inside of what is submitted. Operations start in the
// order in which they are submitted, which must be the same on all ranks.
//
// On a real network the engine has a thread of its own (threaded_engine.h). On
// a simulated one the rank steps aside where it waits, and the clock of the
// world goes on (sim_ranks.h); computing takes no time there but what the rank
// is charged.
//
// Threads: submit(), wait(), fail(), give_up() and traffic() from any, where
// the engine has its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

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
  // Gives up what is under way: wait for what matters first.
  virtual ~AsyncEngine() = default;
  AsyncEngine(const AsyncEngine&) = delete;
  AsyncEngine& operator=(const AsyncEngine&) = delete;

  struct Submitted;
  using Operation = std::shared_ptr<Submitted>;

  // `make` is called where the engine runs; what the task refers to must live
  // until the operation is over.
  virtual Operation submit(std::function<Task<>()> make) = 0;
  // Returns when it is over; throws what it threw, as an Error.
  virtual void wait(const Operation& operation) = 0;

  // Tells all ranks why this one ends: for failures outside of operations.
  virtual void fail(const Error& error) = 0;
  // Gives up what is under way, if anything is, and tells all ranks so. When it
  // returns nothing that was submitted before refers to anything any more, so
  // that an owner of such data calls it before that goes.
  virtual void give_up() = 0;

  virtual Traffic traffic() const = 0;

  // Seconds on the clock by which this network moves.
  virtual double now() const = 0;
  // The caller has computed for so long. Time that really passed is over by
  // now; a virtual clock goes on by it.
  virtual void charge(double /*seconds*/) {}

 protected:
  AsyncEngine() = default;
};

// An operation of some engine.
struct AsyncEngine::Submitted {
  std::function<Task<>()> make;
  Engine::Operation task;  // once started
  std::optional<Error> failure;
  bool is_over = false;
};

}  // namespace weft
