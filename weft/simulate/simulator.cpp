// What happens, moment by moment.
#include "weft/simulate/simulator.h"

#include <algorithm>
#include <utility>

#include "weft/simulate/event_heap.h"

namespace weft {

bool Simulator::Waiting::is_behind(const Waiting& other) const {
  if (priority != other.priority) return priority < other.priority;
  if (ready != other.ready) return ready > other.ready;
  return sequence > other.sequence;
}

bool Simulator::Alarm::is_behind(const Alarm& other) const {
  return time != other.time ? time > other.time : order > other.order;
}

void Simulator::run() {
  while (advance()) {
  }
  if (unfinished_ > 0) refuse_circle();
}

std::optional<Simulator::Event> Simulator::step() {
  while (next_event_ == events_.size()) {
    if (!advance()) return std::nullopt;
  }
  return events_[next_event_++];
}

double Simulator::next_time() {
  if (next_event_ < events_.size()) return now_;
  settle();
  while (!alarms_.empty() && is_outdated(alarms_.front()))
    event_heap::pop(alarms_);
  return alarms_.empty() ? std::numeric_limits<double>::infinity()
                         : alarms_.front().time;
}

void Simulator::advance_to(double time) {
  WEFT_CHECK(time >= now_ && time <= next_time());
  now_ = time;
}

void Simulator::settle() {
  // Jobs become ready no earlier than here, so their dependencies can be added
  // after them.
  for (const JobId id : fresh_) {
    const JobState& state = job_of(id);
    if (state.state == State::kBlocked && state.waits_for == 0) {
      become_ready(id);
    }
  }
  fresh_.clear();
  // A start may let others start, which appends to both.
  std::size_t held = 0;
  std::size_t dispatched = 0;
  while (held < unbound_.size() || !joining_.empty() ||
         dispatched < touched_.size()) {
    if (held < unbound_.size()) {
      hold(unbound_[held++]);
    } else if (!joining_.empty()) {
      join_waiting();
    } else {
      const ResourceId id = touched_[dispatched++];
      of(id).is_touched = false;
      dispatch(id);
    }
  }
  unbound_.clear();
  touched_.clear();
}

bool Simulator::advance() {
  settle();
  if (alarms_.empty()) return false;
  events_.clear();
  next_event_ = 0;
  now_ = alarms_.front().time;
  // Equal times are one moment: all that ends in it is settled before anything
  // starts, so that a free resource chooses among all that are ready by then.
  while (!alarms_.empty() && alarms_.front().time == now_) {
    const Alarm alarm = event_heap::pop(alarms_);
    if (alarm.fair != kNone) {
      if (!is_outdated(alarm)) depart(alarm.fair);
      continue;
    }
    const JobId job = alarm.job;
    switch (job_of(job).state) {
      case State::kReady:
        enqueue(job);
        break;
      case State::kHolding:
        stop_holding(job);
        break;
      default:
        end(job);
    }
  }
  return true;
}

void Simulator::become_ready(JobId id) {
  JobState& state = job_of(id);
  state.state = State::kReady;
  if (state.job.release > now_) {
    // The clock, and no job before it, decides when it starts: a critical path
    // begins here.
    state.cause = kNone;
    set_alarm(state.job.release, id);
  } else {
    enqueue(id);
  }
}

void Simulator::enqueue(JobId id) {
  JobState& state = job_of(id);
  // A job that is between two slices keeps its place in the queue.
  if (!state.has_started) state.ready = now_;
  const ResourceSet& held = state.job.resources;
  if (held.begin() == held.end()) {
    unbound_.push_back(id);
    return;
  }
  if (of(*held.begin()).resource.queueing == Queueing::kFair) {
    joining_.push_back(id);
    return;
  }
  for (const ResourceId resource : held) {
    ResourceState& place = of(resource);
    // Where the first to come goes first, priorities do not count.
    const bool is_ranked = place.resource.queueing != Queueing::kFirstCome;
    event_heap::push(place.queue, {is_ranked ? state.job.priority : 0,
                                   state.ready, state.sequence, id});
  }
  // A job that can start finds all of its resources free, so it is enough to
  // ask one of them.
  touch(*held.begin());
}

void Simulator::touch(ResourceId id) {
  ResourceState& state = of(id);
  if (state.is_touched) return;
  state.is_touched = true;
  touched_.push_back(id);
}

// A job that holds several resources waits in several queues; it is dropped
// from the others when its turn comes there.
void Simulator::dispatch(ResourceId id) {
  ResourceState& place = of(id);
  while (!place.is_busy && !place.queue.empty()) {
    const Waiting first = event_heap::pop(place.queue);
    const JobState& state = job_of(first.job);
    // A queue may still name a job that has started through another one, or
    // whose number a later job has been given: the sequence tells the two
    // apart.
    const bool waits =
        state.state == State::kReady && state.sequence == first.sequence;
    if (!waits) continue;
    // What lacks another resource reserves nothing: it is set aside, to be put
    // back, and whoever is behind it may go.
    if (can_start(state)) {
      hold(first.job);
    } else {
      passed_over_.push_back(first);
    }
  }
  for (const Waiting& waiting : passed_over_)
    event_heap::push(place.queue, waiting);
  passed_over_.clear();
}

bool Simulator::can_start(const JobState& state) const {
  return std::none_of(state.job.resources.begin(), state.job.resources.end(),
                      [&](ResourceId id) { return of(id).is_busy; });
}

void Simulator::hold(JobId id) {
  JobState& state = job_of(id);
  double seconds = state.hold;
  for (const ResourceId held : state.job.resources) {
    ResourceState& place = of(held);
    place.is_busy = true;
    if (place.resource.queueing == Queueing::kSliced) {
      // After a slice, the resource asks again who goes first.
      seconds = std::min(seconds, place.resource.slice);
    }
    // It was ready before and starts as this resource comes free, so the job
    // that has just let go of it is why it starts now.
    if (!state.has_started && state.ready < now_ && place.freed_at == now_) {
      state.cause = place.last;
    }
  }
  begin(id);
  state.hold -= seconds;
  for (const ResourceId held : state.job.resources) {
    of(held).busy_seconds += seconds;
  }
  set_alarm(now_ + seconds, id);
}

void Simulator::begin(JobId id) {
  JobState& state = job_of(id);
  state.state = State::kHolding;
  state.held_since = now_;
  // Only the first slice is a start.
  if (state.has_started) return;
  state.has_started = true;
  state.start = now_;
  change_memory(state.job.memory.device, state.job.memory.at_start);
  follow_edges(state.at_start, id);
}

void Simulator::stop_holding(JobId id) {
  JobState& state = job_of(id);
  for (const ResourceId held : state.job.resources) {
    ResourceState& place = of(held);
    place.is_busy = false;
    place.freed_at = now_;
    place.last = id;
    touch(held);
    if (keep_intervals_) keep_interval(held, id, state.held_since);
  }
  if (state.hold > 0) {
    state.state = State::kReady;
    enqueue(id);
    return;
  }
  release(id);
}

// Lets those go that waited, and frees the edges, which later jobs take.
void Simulator::follow_edges(std::int32_t& first, JobId cause) {
  while (first != kNone) {
    Edge& edge = edges_[static_cast<std::size_t>(first)];
    // The last job that lets it go is its cause.
    JobState& after = job_of(edge.to);
    after.cause = cause;
    if (--after.waits_for == 0) become_ready(edge.to);
    free_edge_ = std::exchange(first, std::exchange(edge.next, free_edge_));
  }
}

void Simulator::release(JobId id) {
  JobState& state = job_of(id);
  events_.push_back({Event::Kind::kReleased, id});
  state.state = State::kReleased;
  // The resource is free while the last byte is on its way.
  if (state.latency > 0) {
    set_alarm(now_ + state.latency, id);
  } else {
    end(id);
  }
}

void Simulator::end(JobId id) {
  JobState& state = job_of(id);
  state.state = State::kEnded;
  state.end = now_;
  change_memory(state.job.memory.device, state.job.memory.at_end);
  events_.push_back({Event::Kind::kEnded, id});
  --unfinished_;
  // Time does not go back, so the last end is the latest.
  makespan_ = now_;
  last_ended_ = id;
  follow_edges(state.at_end, id);
}

void Simulator::set_alarm(double time, JobId job) {
  event_heap::push(alarms_, {time, alarms_set_++, job});
}

void Simulator::change_memory(ResourceId device, std::int64_t bytes) {
  if (device == kNone) return;
  ResourceState& state = of(device);
  state.used_bytes += bytes;
  state.peak_bytes = std::max(state.peak_bytes, state.used_bytes);
}

void Simulator::keep_interval(ResourceId id, JobId job, double start) {
  ResourceState& place = of(id);
  if (place.last_interval != kNone) {
    Interval& last = intervals_[static_cast<std::size_t>(place.last_interval)];
    // Slices that follow on each other are drawn as one.
    if (last.job == job && last.end == start) {
      last.end = now_;
      return;
    }
  }
  place.last_interval = static_cast<std::int32_t>(intervals_.size());
  intervals_.push_back({id, job, start, now_});
}

}  // namespace weft
