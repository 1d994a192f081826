// An engine on a thread of its own, for networks whose clock is the world's.
//
// Threads: as AsyncEngine says.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "weft/comm/transport/async_engine.h"

namespace weft {

class ThreadedEngine : public AsyncEngine {
 public:
  // The transport must outlive the engine, and must not be a simulated one.
  explicit ThreadedEngine(Transport& transport,
                          const EngineOptions& options = {});
  ~ThreadedEngine() override;

  Operation submit(std::function<Task<>()> make) override;
  void wait(const Operation& operation) override;
  void fail(const Error& error) override;
  void give_up() override;
  Traffic traffic() const override;
  // From any thread, as clocks of real networks may be read.
  double now() const override { return transport_.now(); }

 private:
  void serve();
  // Starts what has been submitted. False when it is time to end.
  bool start_submitted(Engine& engine);
  void start(Engine& engine, const Operation& operation);
  // Passes on the ends of operations.
  void collect();
  void count(double since);
  Error failure_of(const std::exception_ptr& thrown) const;
  void end(const Operation& operation, std::optional<Error> failure);

  Transport& transport_;
  const EngineOptions options_;
  std::vector<Operation> under_way_;  // of the network's thread

  // It guards all below, and what operations say of their ends.
  mutable std::mutex mutex_;
  std::condition_variable over_;
  std::deque<Operation> submitted_;
  int unfinished_ = 0;  // operations that were submitted and are not over
  Traffic traffic_;
  bool is_ending_ = false;

  std::thread thread_;
};

}  // namespace weft
