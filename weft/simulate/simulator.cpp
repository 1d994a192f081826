#include "weft/simulate/simulator.h"

#include <algorithm>
#include <utility>

namespace weft {
namespace {

constexpr int kMostNamed = 8;  // jobs in an error

// std::*_heap keep the greatest in front: the one that no other is behind.
template <class T>
void push(std::vector<T>& heap, const T& value) {
  heap.push_back(value);
  std::push_heap(heap.begin(), heap.end(),
                 [](const T& a, const T& b) { return a.is_behind(b); });
}
template <class T>
T pop(std::vector<T>& heap) {
  std::pop_heap(heap.begin(), heap.end(),
                [](const T& a, const T& b) { return a.is_behind(b); });
  const T value = heap.back();
  heap.pop_back();
  return value;
}

void require(bool condition, std::string_view what, double value) {
  if (condition) return;
  throw Error(ErrorCode::kInvalidArgument, "simulator", "{} is {}", what,
              value);
}

}  // namespace

bool Simulator::Waiting::is_behind(const Waiting& other) const {
  if (priority != other.priority) return priority < other.priority;
  if (ready != other.ready) return ready > other.ready;
  return sequence > other.sequence;
}

bool Simulator::Alarm::is_behind(const Alarm& other) const {
  return time != other.time ? time > other.time : order > other.order;
}

Simulator::ResourceId Simulator::add_resource(const Resource& resource) {
  require(resource.rate > 0, "the rate of a resource", resource.rate);
  require(resource.latency >= 0, "the latency of a resource", resource.latency);
  require(resource.slice > 0, "the slice of a resource", resource.slice);
  resources_.push_back({.resource = resource});
  return resources() - 1;
}

Simulator::JobId Simulator::add_job(const Job& job) {
  require(job.seconds >= 0, "the time of a job", job.seconds);
  require(job.bytes >= 0, "the size of a job", job.bytes);
  require(job.release >= 0, "the release of a job", job.release);
  JobId id = kNone;
  if (forgotten_.empty()) {
    id = jobs();
    jobs_.emplace_back();
  } else {
    id = forgotten_.back();
    forgotten_.pop_back();
  }
  JobState& state = job_of(id);
  state = {.job = job};
  state.hold = job.seconds;
  state.sequence = added_++;
  double rate = std::numeric_limits<double>::infinity();
  for (const ResourceId held : job.resources) {
    WEFT_CHECK(held >= 0 && held < resources());
    WEFT_CHECK(of(held).resource.queueing != Queueing::kFair ||
               std::distance(job.resources.begin(), job.resources.end()) == 1);
    // All are held at once, so the slowest sets the pace.
    rate = std::min(rate, of(held).resource.rate);
    state.latency += of(held).resource.latency;
  }
  state.hold += job.bytes / rate;
  fresh_.push_back(id);
  ++unfinished_;
  return id;
}

void Simulator::add_dependency(JobId before, JobId after) {
  JobState& first = job_of(before);
  WEFT_CHECK(first.state != State::kForgotten);
  // Jobs are also added as the answer to events: one to wait for may be over,
  // and then there is nothing to wait for.
  if (first.state != State::kEnded) add_edge(first.at_end, after);
}

void Simulator::add_start_dependency(JobId before, JobId after) {
  JobState& first = job_of(before);
  WEFT_CHECK(first.state != State::kForgotten);
  if (!first.has_started) add_edge(first.at_start, after);
}

void Simulator::add_edge(std::int32_t& first, JobId after) {
  JobState& then = job_of(after);
  WEFT_CHECK(then.state == State::kBlocked, "job {} is ready already", after);
  std::int32_t edge = free_edge_;
  if (edge == kNone) {
    edge = static_cast<std::int32_t>(edges_.size());
    edges_.emplace_back();
  } else {
    free_edge_ = edges_[static_cast<std::size_t>(edge)].next;
  }
  edges_[static_cast<std::size_t>(edge)] = {after, first};
  first = edge;
  ++then.waits_for;
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
  while (!alarms_.empty() && is_outdated(alarms_.front())) pop(alarms_);
  return alarms_.empty() ? std::numeric_limits<double>::infinity()
                         : alarms_.front().time;
}

void Simulator::advance_to(double time) {
  WEFT_CHECK(time >= now_ && time <= next_time());
  now_ = time;
}

void Simulator::forget(JobId job) {
  WEFT_CHECK(job_of(job).state == State::kEnded);
  job_of(job).state = State::kForgotten;
  forgotten_.push_back(job);
}

void Simulator::clear_jobs() {
  now_ = makespan_ = 0;
  last_ended_ = kNone;
  added_ = alarms_set_ = 0;
  unfinished_ = 0;
  jobs_.clear();
  forgotten_.clear();
  fresh_.clear();
  unbound_.clear();
  edges_.clear();
  free_edge_ = kNone;
  touched_.clear();
  alarms_.clear();
  events_.clear();
  next_event_ = 0;
  intervals_.clear();
  for (ResourceState& state : resources_) {
    // The vectors keep their memory, so that a simulator which is run again and
    // again allocates nothing.
    std::vector<Waiting> queue = std::move(state.queue);
    std::vector<Flow> flows = std::move(state.flows);
    queue.clear();
    flows.clear();
    state = {.resource = state.resource,
             .queue = std::move(queue),
             .flows = std::move(flows)};
  }
}

std::vector<Simulator::JobId> Simulator::critical_path() const {
  WEFT_CHECK(forgotten_.empty());
  std::vector<JobId> path;
  for (JobId job = last_ended_; job != kNone; job = job_of(job).cause) {
    path.push_back(job);
  }
  std::reverse(path.begin(), path.end());
  return path;
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
  while (held < unbound_.size() || dispatched < touched_.size()) {
    if (held < unbound_.size()) {
      hold(unbound_[held++]);
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
    const Alarm alarm = pop(alarms_);
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
    join(*held.begin(), id);
    return;
  }
  for (const ResourceId resource : held) {
    ResourceState& place = of(resource);
    // Where the first to come goes first, priorities do not count.
    const bool is_ranked = place.resource.queueing != Queueing::kFirstCome;
    push(place.queue,
         {is_ranked ? state.job.priority : 0, state.ready, state.sequence, id});
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
    const Waiting first = pop(place.queue);
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
  for (const Waiting& waiting : passed_over_) push(place.queue, waiting);
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
  push(alarms_, {now_ + std::max(0.0, left) * flows, alarms_set_++, kNone, id});
}

// An alarm of before others joined or left stays in the heap, where finding it
// would cost a search, and is passed over when its time comes.
bool Simulator::is_outdated(const Alarm& alarm) const {
  return alarm.fair != kNone && of(alarm.fair).alarm != alarm.order;
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
  push(alarms_, {time, alarms_set_++, job});
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

void Simulator::refuse_circle() const {
  std::string named;
  int count = 0;
  for (JobId id = 0; id < jobs(); ++id) {
    // Jobs behind a circle wait as well, and are counted with it.
    if (job_of(id).state != State::kBlocked || count++ >= kMostNamed) continue;
    named += fmt::format("{}{}", named.empty() ? "" : ", ", id);
  }
  throw Error(ErrorCode::kInvalidArgument, "simulator",
              "{} jobs wait for each other in a circle", count)
      .detail(fmt::format("among them: {}", named));
}

}  // namespace weft
