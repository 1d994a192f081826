// What a step of several workers will send, found by a rehearsal: the first
// steps of the run, computed and exchanged for real, of which nothing is kept.
// So it holds for every policy, collective and codec, those too whose messages
// depend on the gradients.
//
// Threads: caller synchronises; each rank runs on a thread of its own.
// Cost: up to 32 steps of all workers, each on its share of the threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/comm/transport/local_ranks.h"
#include "weft/train/recipe/recipe.h"

namespace weft {

// Bytes of a mean step of one rank, message headers of the transport left out.
struct RankTraffic {
  double bytes_sent = 0;
  double bytes_received = 0;
};

struct TrafficForecast {
  // The mean is over so many, the last of which all workers meet in. Those who
  // meet less often by themselves send less than is told here.
  std::int64_t steps = 0;
  std::vector<RankTraffic> ranks;
  std::string sync;  // what the workers do, for people (Worker::text())
};

// All ranks are of this process. Throws what a run by this recipe throws before
// its first epoch is over, and Error(kUnsupported) for private training, whose
// steps draw on a budget.
TrafficForecast forecast_traffic(const Recipe& recipe, LocalRanks& ranks);

}  // namespace weft
