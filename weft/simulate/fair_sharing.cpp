// Resources that serve all of their flows at once.
#include <algorithm>
#include <utility>

#include "weft/simulate/event_heap.h"
#include "weft/simulate/simulator.h"

namespace weft {

// Jobs that become ready at one moment join in the order in which they were
// added, whoever let them go.
void Simulator::join_waiting() {
  // What begins may let others join, which are in the list again then.
  std::swap(joining_, joined_);
  std::ranges::sort(joined_, {}, [&](JobId id) { return job_of(id).sequence; });
  for (const JobId id : joined_) join(*job_of(id).job.resources.begin(), id);
  joined_.clear();
}

void Simulator::join(ResourceId id, JobId job) {
  ResourceState& place = of(id);
  const JobState& state = job_of(job);
  // The jobs of a flow take turns, so one that comes behind another changes no
  // share.
  for (Flow& flow : place.flows) {
    if (flow.number != state.job.flow) continue;
    job_of(flow.last).next = job;
    flow.last = job;
    return;
  }
  // What has been served so far was at the old shares.
  serve(place);
  // On the clock of `served`, which counts what each flow has had, a job ends
  // at a time that does not change when others come or go: one number per flow
  // is enough (Kleinrock's processor sharing, as virtual time).
  place.flows.push_back({state.job.flow, job, job, place.served + state.hold});
  expect_end(id);
  begin(job);
}

// Ends the first job of one flow or, where they end together, of several.
void Simulator::depart(ResourceId id) {
  ResourceState& place = of(id);
  serve(place);
  // The clock has come here by sums, which round: it is set to the very end
  // that was expected, so that jobs which end together compare equal to it.
  place.served = std::numeric_limits<double>::infinity();
  for (const Flow& flow : place.flows) {
    place.served = std::min(place.served, flow.end);
  }
  for (Flow& flow : place.flows) {
    if (flow.end > place.served) continue;
    departed_.push_back(flow.first);
    flow.first = job_of(flow.first).next;
    if (flow.first != kNone) flow.end += job_of(flow.first).hold;
  }
  std::erase_if(place.flows,
                [](const Flow& flow) { return flow.first == kNone; });
  // With nobody left to compare with, the clock starts anew, where doubles are
  // finest.
  if (place.flows.empty()) place.served = 0;
  expect_end(id);
  // The flows are in order again before anything is told: what a release lets
  // start may join this very resource.
  for (const JobId job : departed_) {
    const JobId next = job_of(job).next;
    if (keep_intervals_) keep_interval(id, job, job_of(job).held_since);
    release(job);
    if (next == kNone) continue;
    job_of(next).cause = job;
    begin(next);
  }
  departed_.clear();
}

// Brings the clock of what each flow has had up to now.
void Simulator::serve(ResourceState& place) {
  const double elapsed = now_ - std::exchange(place.served_at, now_);
  if (place.flows.empty()) return;
  place.served += elapsed / static_cast<double>(place.flows.size());
  place.busy_seconds += elapsed;
}

void Simulator::expect_end(ResourceId id) {
  ResourceState& place = of(id);
  if (place.flows.empty()) return;
  double left = std::numeric_limits<double>::infinity();
  for (const Flow& flow : place.flows) {
    left = std::min(left, flow.end - place.served);
  }
  place.alarm = alarms_set_;
  const auto flows = static_cast<double>(place.flows.size());
  // Rounding may put an end a little before now.
  event_heap::push(
      alarms_, {now_ + std::max(0.0, left) * flows, alarms_set_++, kNone, id});
}

// An alarm of before others joined or left stays in the heap, where finding it
// would cost a search, and is passed over when its time comes.
bool Simulator::is_outdated(const Alarm& alarm) const {
  return alarm.fair != kNone && of(alarm.fair).alarm != alarm.order;
}

}  // namespace weft
