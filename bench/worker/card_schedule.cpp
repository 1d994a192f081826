#include "bench/worker/card_schedule.h"

#include <algorithm>
#include <queue>

namespace weft::bench {

double least_makespan(std::vector<CardJob> jobs) {
  std::ranges::sort(jobs, {}, &CardJob::release);
  const auto is_less = [](const CardJob& a, const CardJob& b) {
    return a.tail < b.tail;
  };
  std::priority_queue<CardJob, std::vector<CardJob>, decltype(is_less)> waiting(
      is_less);
  double now = 0;
  double makespan = 0;
  auto next = jobs.begin();
  while (next != jobs.end() || !waiting.empty()) {
    if (waiting.empty()) now = next->release;
    for (; next != jobs.end() && next->release <= now; ++next) {
      waiting.push(*next);
    }
    CardJob job = waiting.top();
    waiting.pop();
    const double until = now + job.seconds;
    if (next != jobs.end() && next->release < until) {
      job.seconds = until - next->release;
      now = next->release;
      waiting.push(job);
    } else {
      now = until;
      makespan = std::max(makespan, now + job.tail);
    }
  }
  return makespan;
}

}  // namespace weft::bench
