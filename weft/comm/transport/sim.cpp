#include "weft/comm/transport/sim.h"

#include "weft/comm/transport/sim_endpoint.h"
#include "weft/comm/transport/sim_network.h"
#include "weft/comm/transport/sim_ranks.h"

namespace weft {
namespace {

Task<> accompany(SimNetwork& network,
                 const std::function<Task<>(Transport&)>& body, int rank) {
  try {
    co_await body(network.endpoint(rank));
  } catch (const std::exception&) {
    network.fail(rank, std::current_exception());
  }
  network.end_one();
}

}  // namespace

SimWorld::SimWorld(Topology topology, SimWorldOptions options)
    : network_(std::make_unique<SimNetwork>(std::move(topology), options)) {}

SimWorld::~SimWorld() = default;

Transport& SimWorld::endpoint(int rank) { return network_->endpoint(rank); }

double SimWorld::run(const std::function<Task<>(Transport&)>& body) {
  const double started = network_->simulator().now();
  std::vector<Task<>> tasks;
  network_->begin();
  for (int rank = 0; rank < network_->ranks(); ++rank) {
    tasks.push_back(accompany(*network_, body, rank));
    // Ranks begin in their order, which makes a run depend on the seed alone.
    tasks.back().start();
    network_->endpoint(rank).resume_ready();
  }
  network_->finish([] { return false; });
  return network_->simulator().now() - started;
}

double SimWorld::run_ranks(const std::function<void(Transport&)>& body) {
  const double started = network_->simulator().now();
  SimRanks(*network_).run(body);
  return network_->simulator().now() - started;
}

std::span<const SimTraffic> SimWorld::traffic(int rank) const {
  return network_->endpoint(rank).traffic();
}

double SimWorld::computing_seconds(int rank) const {
  return network_->simulator().busy_seconds(network_->processor(rank));
}

}  // namespace weft
