// Ranks of a simulated world that wait as threads do: each is a fiber, which
// steps aside until what it waits for is over.
//
// Threads: caller synchronises.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "weft/base/fiber/fiber.h"
#include "weft/comm/transport/async_engine.h"
#include "weft/comm/transport/sim_network.h"

namespace weft {

class SimRanks {
 public:
  // It is known to the network as long as it lives.
  explicit SimRanks(SimNetwork& network);
  ~SimRanks();
  SimRanks(const SimRanks&) = delete;
  SimRanks& operator=(const SimRanks&) = delete;

  // Runs `body` as every rank, in their order, until all have ended. Throws as
  // SimNetwork::finish().
  void run(const std::function<void(Transport&)>& body);

  // Is called by a rank: it steps aside until ready().
  void wait(int rank);
  // A rank that waits goes on behind those that are ready.
  void ready(int rank) { ready_.push_back(rank); }

 private:
  Fiber& fiber(int rank) { return *fibers_[static_cast<std::size_t>(rank)]; }
  bool resume_ready();

  SimNetwork& network_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::deque<int> ready_;
};

// Operations run where they are submitted, until they first wait, and go on as
// the network brings what they wait for.
class SimEngine : public AsyncEngine {
 public:
  // Both must outlive the engine.
  SimEngine(SimNetwork& network, Transport& transport)
      : network_(network), transport_(transport) {}
  ~SimEngine() override;

  Operation submit(std::function<Task<>()> make) override;
  void wait(const Operation& operation) override;
  void fail(const Error& error) override;
  void give_up() override;
  Traffic traffic() const override;
  double now() const override { return transport_.now(); }
  void charge(double seconds) override;

 private:
  Task<> run(Submitted& operation);
  Task<> pause(Submitted& computing, double seconds);
  void end(Submitted& operation);
  void step_aside_until_over(const Submitted& operation);
  // Throws when the rank's time has come.
  void check_alive();

  SimNetwork& network_;
  Transport& transport_;
  std::vector<Operation> kept_;  // those that may be under way
  int under_way_ = 0;
  double busy_since_ = 0;
  double busy_seconds_ = 0;             // of times that are over
  const Submitted* awaited_ = nullptr;  // for which the rank steps aside
};

}  // namespace weft
