// The jobs of a simulation and what they wait for, before and after a run.
#include <algorithm>

#include "weft/simulate/simulator.h"

namespace weft {
namespace {

constexpr int kMostNamed = 8;  // jobs in an error

void require(bool condition, std::string_view what, double value) {
  if (condition) return;
  throw Error(ErrorCode::kInvalidArgument, "simulator", "{} is {}", what,
              value);
}

}  // namespace

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
  joining_.clear();
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
