// What no order of transfers on a card could fall below.
#pragma once

#include <vector>

namespace weft::bench {

struct CardJob {
  double release = 0;  // seconds before which it cannot begin
  double seconds = 0;  // of the card
  double tail = 0;     // seconds of what waits for it, behind its end
};

// When all tails are over, at least. One card carries what has been released
// with the longest tail first, and is interrupted as it likes: the best there
// is (Jackson, "Scheduling a production line to minimize maximum tardiness",
// 1955, with interruptions). 0 without jobs.
double least_makespan(std::vector<CardJob> jobs);

}  // namespace weft::bench
