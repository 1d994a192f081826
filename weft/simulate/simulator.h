// What happens when jobs share resources: an event simulator for schedules,
// placements and networks.
//
// A job holds one or several resources for a time and then lets its successors
// go. A processor is a resource, and so is each direction of a link. A message
// through a switch is two jobs, on the sender's way out and on the receiver's
// way in, of which the second starts once the first has (cut-through) and may
// wait in the switch; without one it is one job that holds both ways at once,
// at the rate of the slower. Whole graphs run at once,
//
//   const auto card = simulator.add_resource({.rate = 1e9});
//   const auto a = simulator.add_job({.resources = {card}, .bytes = 1e6});
//   const auto b = simulator.add_job({.resources = {card}, .bytes = 2e6});
//   simulator.add_dependency(a, b);
//   simulator.run();
//   simulator.makespan();  // 3e-3
//
// or step by step, with jobs added as the answer to what has happened.
//
// A free resource takes the first of its queue that can start at once: one
// that still lacks another resource reserves nothing. What happens at one
// moment is settled in this order: ends, then starts. Ties go to the job that
// became ready first, then to the one that was added first.
//
// A fair resource is what many small slices in turn tend to, as the packets of
// several senders on a link do (processor sharing, Kleinrock, 1967), at one
// event per job.
//
// Source: the simulation of Jia, Zaharia, Aiken, "Beyond data and model
// parallelism for deep neural networks", SysML 2019, with links and queues as
// in discrete-event network simulators.
//
// Threads: caller synchronises.
// Cost: O(log n) per job; nothing is allocated once vectors have grown.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "weft/base/error.h"

namespace weft {

// Which job a resource takes next.
enum class Queueing : std::uint8_t {
  kFirstCome,  // the one that has been ready for longest
  kPriority,   // the one of highest priority; a job runs to its end
  kSliced,     // the same, asked again after each slice of a job
  kFair,       // all flows at once, at equal shares of the rate; the jobs of
               // a flow take turns
};

class Simulator {
 public:
  using ResourceId = std::int32_t;
  using JobId = std::int32_t;
  static constexpr std::int32_t kNone = -1;

  struct Resource {
    double rate = 1;     // bytes per second
    double latency = 0;  // seconds from the last byte to the end of the job;
                         // the resource is free by then
    Queueing queueing = Queueing::kFirstCome;
    double slice = std::numeric_limits<double>::infinity();  // seconds
  };

  // Up to four resources that are held together.
  class ResourceSet {
   public:
    ResourceSet() = default;
    ResourceSet(std::initializer_list<ResourceId> ids) {
      WEFT_CHECK(ids.size() <= ids_.size());
      for (const ResourceId id : ids) ids_[count_++] = id;
    }
    const ResourceId* begin() const { return ids_.data(); }
    const ResourceId* end() const { return ids_.data() + count_; }

   private:
    std::array<ResourceId, 4> ids_ = {};
    std::uint32_t count_ = 0;
  };

  // Bytes that become used (or free, below 0) on a device.
  struct Memory {
    ResourceId device = kNone;
    std::int64_t at_start = 0;
    std::int64_t at_end = 0;
  };

  // Holds its resources for `seconds` + `bytes` / the lowest rate; ends after
  // the sum of their latencies more.
  struct Job {
    ResourceSet resources = {};
    double seconds = 0;
    double bytes = 0;
    int priority = 0;       // the higher goes first
    double release = 0;     // not before this time
    std::int32_t flow = 0;  // on fair resources, which are held alone
    Memory memory = {};
  };

  // A time at which a job held a resource.
  struct Interval {
    ResourceId resource = kNone;
    JobId job = kNone;
    double start = 0;
    double end = 0;
  };

  struct Event {
    enum class Kind : std::uint8_t {
      kReleased,  // its resources are free again
      kEnded,     // its successors may start; always after kReleased
    };
    Kind kind = Kind::kEnded;
    JobId job = kNone;
  };

  // Whether busy intervals are kept.
  explicit Simulator(bool keep_intervals = false)
      : keep_intervals_(keep_intervals) {}

  // Throws Error(kInvalidArgument) for a rate or slice that is not above 0 or
  // a latency below 0.
  ResourceId add_resource(const Resource& resource);
  // Throws Error(kInvalidArgument) for times or bytes below 0.
  JobId add_job(const Job& job);
  // `after` starts when `before` has ended. `after` has not become ready.
  void add_dependency(JobId before, JobId after);
  // The same, but as soon as `before` has started.
  void add_start_dependency(JobId before, JobId after);

  // Runs everything. Throws Error(kInvalidArgument) when jobs wait for each
  // other in a circle, naming some.
  void run();
  // Runs until the next event; nothing when nothing is under way.
  std::optional<Event> step();
  // step() uses it to let the clock go to `time`, before which nothing may
  // happen.
  void advance_to(double time);
  // The time of what step() gives next; infinity for nothing.
  double next_time();
  // Gives the number of an ended job to the next that is added.
  void forget(JobId job);

  // Takes all jobs away and sets the clock to 0; resources and room stay.
  void clear_jobs();

  double now() const { return now_; }
  int jobs() const { return static_cast<int>(jobs_.size()); }
  int resources() const { return static_cast<int>(resources_.size()); }

  // Tells when the last job ended.
  double makespan() const { return makespan_; }
  double start_of(JobId job) const { return job_of(job).start; }
  double end_of(JobId job) const { return job_of(job).end; }
  double busy_seconds(ResourceId resource) const {
    return of(resource).busy_seconds;
  }
  std::int64_t peak_memory(ResourceId device) const {
    return of(device).peak_bytes;
  }
  // They stand in the order of their ends; slices of a job that follow on each
  // other are one.
  std::span<const Interval> intervals() const { return intervals_; }
  // The jobs that made the last one end when it did, first to last: each had
  // to wait for the one before, as its successor or for a resource. For
  // simulators that forget no job.
  std::vector<JobId> critical_path() const;

 private:
  enum class State : std::uint8_t {
    kBlocked,   // new, or waiting for others
    kReady,     // waiting for its release time or its resources
    kHolding,   // its resources
    kReleased,  // them; its last byte is on its way
    kEnded,
    kForgotten,
  };

  struct JobState {
    Job job;
    double hold = 0;  // seconds for which resources are still needed
    double latency = 0;
    double ready = 0;
    double start = 0;
    double end = 0;
    double held_since = 0;
    std::uint64_t sequence = 0;     // of all jobs ever added
    std::int32_t waits_for = 0;     // predecessors
    std::int32_t at_start = kNone;  // the first edge to successors
    std::int32_t at_end = kNone;
    JobId cause = kNone;  // whose start, release or end let it start
    JobId next = kNone;   // behind it in its flow
    State state = State::kBlocked;
    bool has_started = false;
  };

  // Leads to a job that waits for this one's start or end.
  struct Edge {
    JobId to = kNone;
    std::int32_t next = kNone;
  };

  struct Waiting {
    int priority = 0;
    double ready = 0;
    std::uint64_t sequence = 0;
    JobId job = kNone;
    bool is_behind(const Waiting& other) const;
  };

  // Jobs on a fair resource, of which the first is served.
  struct Flow {
    std::int32_t number = 0;
    JobId first = kNone;
    JobId last = kNone;
    double end = 0;  // of the first, on the clock of `served`
  };

  struct ResourceState {
    Resource resource;
    std::vector<Waiting> queue = {};  // a heap, the next at the front
    std::vector<Flow> flows = {};     // of a fair one, instead
    double served = 0;                // seconds that each of them has had
    double served_at = 0;
    std::uint64_t alarm = 0;  // the order of the one that counts
    double busy_seconds = 0;
    double freed_at = -1;
    JobId last = kNone;  // that held it
    std::int64_t used_bytes = 0;
    std::int64_t peak_bytes = 0;
    std::int32_t last_interval = kNone;
    bool is_busy = false;
    bool is_touched = false;
  };

  struct Alarm {
    double time = 0;
    std::uint64_t order = 0;
    JobId job = kNone;
    ResourceId fair = kNone;  // or this, for its next end
    bool is_behind(const Alarm& other) const;
  };

  JobState& job_of(JobId id) { return jobs_[static_cast<std::size_t>(id)]; }
  const JobState& job_of(JobId id) const {
    return jobs_[static_cast<std::size_t>(id)];
  }
  ResourceState& of(ResourceId id) {
    return resources_[static_cast<std::size_t>(id)];
  }
  const ResourceState& of(ResourceId id) const {
    return resources_[static_cast<std::size_t>(id)];
  }

  // Starts all that can start now.
  void settle();
  // Goes to the next moment at which something happens. False for none.
  bool advance();
  void add_edge(std::int32_t& first, JobId after);
  void follow_edges(std::int32_t& first, JobId cause);
  void become_ready(JobId id);
  void enqueue(JobId id);
  void touch(ResourceId id);
  void dispatch(ResourceId id);
  bool can_start(const JobState& state) const;
  void hold(JobId id);
  void stop_holding(JobId id);
  void begin(JobId id);
  void release(JobId id);
  void end(JobId id);
  // Jobs come to a fair resource and leave it.
  void join_waiting();
  void join(ResourceId id, JobId job);
  void depart(ResourceId id);
  void serve(ResourceState& place);
  void expect_end(ResourceId id);
  bool is_outdated(const Alarm& alarm) const;

  void set_alarm(double time, JobId job);
  void change_memory(ResourceId device, std::int64_t bytes);
  void keep_interval(ResourceId id, JobId job, double start);
  [[noreturn]] void refuse_circle() const;

  bool keep_intervals_;
  double now_ = 0;
  double makespan_ = 0;
  JobId last_ended_ = kNone;
  std::uint64_t added_ = 0;
  std::uint64_t alarms_set_ = 0;
  int unfinished_ = 0;
  std::vector<JobState> jobs_;
  std::vector<JobId> forgotten_;
  std::vector<JobId> fresh_;    // added since the last settle()
  std::vector<JobId> unbound_;  // ready, and need no resource
  std::vector<JobId> joining_;  // ready for a fair one
  std::vector<JobId> joined_;
  std::vector<Edge> edges_;
  std::int32_t free_edge_ = kNone;
  std::vector<ResourceState> resources_;
  std::vector<ResourceId> touched_;
  std::vector<Waiting> passed_over_;
  std::vector<JobId> departed_;
  std::vector<Alarm> alarms_;  // a heap
  std::vector<Event> events_;  // of this moment
  std::size_t next_event_ = 0;
  std::vector<Interval> intervals_;
};

}  // namespace weft
