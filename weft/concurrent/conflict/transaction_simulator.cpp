#include "weft/concurrent/conflict/transaction_simulator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

#include "weft/base/error.h"
#include "weft/concurrent/conflict/policy_registry.h"

namespace weft::concurrent {
namespace {

constexpr int kNobody = -1;

// An object, and how much work comes before it is asked for.
struct Access {
  double at = 0;
  int object = 0;
};

struct Core {
  double length = 0;
  std::vector<Access> accesses;  // by time
  double started = 0;            // the attempt
  double done = 0;               // work of the attempt, until `resumed`
  double resumed = 0;
  std::size_t held = 0;     // the first so many of the accesses
  int waits_for = kNobody;  // an object
  double waits_since = 0;
  AfterDelay after_wait = AfterDelay::kAbortSelf;
  std::uint64_t aborts = 0;  // of this transaction
  std::uint64_t alarm = 0;   // the only one that counts
};

struct Object {
  int owner = kNobody;
  std::vector<int> waiters;  // in the order in which they asked
};

struct Alarm {
  double time = 0;
  std::uint64_t number = 0;
  int core = 0;
  enum class Kind : std::uint8_t { kBegin, kRetry, kStep, kDelayOver };
  Kind kind = Kind::kStep;

  bool operator>(const Alarm& other) const {
    // Alarms of one time go off in the order in which they were set, so that a
    // run is a function of its seed.
    return time != other.time ? time > other.time : number > other.number;
  }
};

class TransactionSimulator {
 public:
  TransactionSimulator(const TransactionWorkload& workload,
                       const TransactionOptions& options)
      : workload_(workload),
        options_(options),
        random_(options.seed, 0),
        // Policies draw from a stream of their own: how often one draws must
        // not decide which numbers the load gets.
        policy_random_(options.seed, 1),
        cores_(static_cast<std::size_t>(options.cores)),
        objects_(static_cast<std::size_t>(workload.objects)) {}

  TransactionStatistics run() {
    for (int i = 0; i < options_.cores; ++i)
      set_alarm(i, workload_.pause(random_), Alarm::Kind::kBegin);
    while (!alarms_.empty() && alarms_.top().time <= options_.time) {
      const Alarm alarm = alarms_.top();
      alarms_.pop();
      // A core has one alarm; those that it replaced stay in the queue and are
      // passed over.
      if (alarm.number != core(alarm.core).alarm) continue;
      now_ = alarm.time;
      handle(alarm);
    }
    result_.time = options_.time;
    return result_;
  }

 private:
  Core& core(int i) { return cores_[static_cast<std::size_t>(i)]; }
  Object& object(int i) { return objects_[static_cast<std::size_t>(i)]; }

  // Replaces the core's alarm.
  void set_alarm(int i, double delay, Alarm::Kind kind) {
    core(i).alarm = ++alarms_set_;
    alarms_.push({now_ + delay, alarms_set_, i, kind});
  }

  void handle(const Alarm& alarm) {
    switch (alarm.kind) {
      case Alarm::Kind::kBegin:
        draw(core(alarm.core));
        return attempt(alarm.core);
      case Alarm::Kind::kRetry:
        return attempt(alarm.core);
      case Alarm::Kind::kStep:
        return step(alarm.core);
      case Alarm::Kind::kDelayOver:
        stop_waiting(alarm.core);
        return act(alarm.core, core(alarm.core).after_wait);
    }
  }

  void draw(Core& self) {
    self.length = workload_.length(random_);
    self.aborts = 0;
    self.accesses.clear();
    // check() has seen that there are enough objects, so the loop ends.
    while (self.accesses.size() < static_cast<std::size_t>(workload_.picks)) {
      const auto pick = static_cast<int>(
          random_.below(static_cast<std::uint32_t>(workload_.objects)));
      const bool is_new = std::none_of(
          self.accesses.begin(), self.accesses.end(),
          [&](const Access& access) { return access.object == pick; });
      if (is_new) self.accesses.push_back({.object = pick});
    }
  }

  void attempt(int i) {
    Core& self = core(i);
    self.started = now_;
    self.done = 0;
    self.held = 0;
    // No attempt is quite like the one before: two that always met at the same
    // points could kill each other forever.
    for (Access& access : self.accesses)
      access.at = self.length * random_.unit();
    std::sort(self.accesses.begin(), self.accesses.end(),
              [](const Access& a, const Access& b) { return a.at < b.at; });
    go_on(i);
  }

  // Works until the next access or the commit.
  void go_on(int i) {
    core(i).resumed = now_;
    set_alarm(i, next_point(core(i)) - core(i).done, Alarm::Kind::kStep);
  }
  static double next_point(const Core& self) {
    return self.held < self.accesses.size() ? self.accesses[self.held].at
                                            : self.length;
  }

  void step(int i) {
    Core& self = core(i);
    // The alarm was set for just this point; adding up times would let rounding
    // creep in.
    self.done = next_point(self);
    if (self.held == self.accesses.size()) return commit(i);
    const int wanted = self.accesses[self.held].object;
    if (object(wanted).owner == kNobody)
      take(i, wanted);
    else
      decide(i, wanted);
  }

  void take(int i, int wanted) {
    object(wanted).owner = i;
    ++core(i).held;
    go_on(i);
  }

  void commit(int i) {
    ++result_.commits;
    // Whoever waits for what it held goes on at once.
    release_all(i);
    core(i).held = 0;
    set_alarm(i, workload_.pause(random_), Alarm::Kind::kBegin);
  }

  void decide(int i, int wanted) {
    Core& self = core(i);
    Object& place = object(wanted);
    const Core& owner = core(place.owner);
    ++result_.conflicts;
    const double remaining = owner.length - work_done(owner);
    const ConflictInfo conflict{
        .self_cost_ns = now_ - self.started,
        .owner_cost_ns = now_ - owner.started,
        // The owner, those that wait for it already, and this one.
        .chain = static_cast<int>(place.waiters.size()) + 2,
        .mean_remaining_ns =
            options_.knows_remaining ? remaining : mean_remaining(),
        .can_kill_owner = options_.can_kill_owner,
        // Those of the one that would die.
        .aborts = static_cast<int>(std::min<std::uint64_t>(
            options_.can_kill_owner ? owner.aborts : self.aborts,
            std::numeric_limits<int>::max()))};
    remaining_sum_ += remaining;
    const Decision decision = options_.policy->decide(conflict, policy_random_);
    // It has not joined the waiters yet, so there is no wait to undo.
    if (decision.delay_ns <= 0) return act(i, decision.after);
    place.waiters.push_back(i);
    self.waits_for = wanted;
    self.waits_since = now_;
    self.after_wait = decision.after;
    set_alarm(i, decision.delay_ns, Alarm::Kind::kDelayOver);
  }

  double work_done(const Core& owner) const {
    // An owner that waits for somebody itself gets nothing done meanwhile.
    const bool is_working = owner.waits_for == kNobody;
    return owner.done + (is_working ? now_ - owner.resumed : 0);
  }

  double mean_remaining() const {
    return result_.conflicts > 1
               // This conflict is counted and not yet in the sum: a policy sees
               // the earlier ones alone.
               ? remaining_sum_ / static_cast<double>(result_.conflicts - 1)
               : std::numeric_limits<double>::quiet_NaN();
  }

  // The delay is over, and the owner has not ended.
  void act(int i, AfterDelay after) {
    if (after == AfterDelay::kAbortSelf) return abort(i);
    const int wanted = core(i).accesses[core(i).held].object;
    // Others that wait for the object must not get it in between.
    abort(object(wanted).owner, wanted);
    take(i, wanted);
  }

  // `kept` is taken by the one that kills.
  void abort(int i, int kept = kNobody) {
    Core& self = core(i);
    if (self.waits_for != kNobody) stop_waiting(i);
    ++result_.aborts;
    ++self.aborts;
    result_.most_aborts = std::max(result_.most_aborts, self.aborts);
    result_.wasted += now_ - self.started;
    release_all(i, kept);
    self.held = 0;
    // This replaces any alarm that the one that dies had, so nothing is left
    // that could take a step for the attempt.
    set_alarm(i, options_.cleanup, Alarm::Kind::kRetry);
  }

  void stop_waiting(int i) {
    Core& self = core(i);
    std::erase(object(self.waits_for).waiters, i);
    self.waits_for = kNobody;
    result_.waited += now_ - self.waits_since;
  }

  void release_all(int i, int kept = kNobody) {
    const Core& self = core(i);
    for (std::size_t k = 0; k < self.held; ++k) {
      const int freed = self.accesses[k].object;
      object(freed).owner = kNobody;
      // A copy, as each that stops waiting leaves the list.
      const std::vector<int> waiters = object(freed).waiters;
      for (const int waiter : waiters) {
        stop_waiting(waiter);
        if (object(freed).owner == kNobody && freed != kept)
          take(waiter, freed);
        else  // asks again, about the new owner
          set_alarm(waiter, 0, Alarm::Kind::kStep);
      }
    }
  }

  const TransactionWorkload& workload_;
  TransactionOptions options_;
  FastRandom random_;
  FastRandom policy_random_;
  std::vector<Core> cores_;
  std::vector<Object> objects_;
  std::priority_queue<Alarm, std::vector<Alarm>, std::greater<>> alarms_;
  std::uint64_t alarms_set_ = 0;
  double now_ = 0;
  double remaining_sum_ = 0;
  TransactionStatistics result_;
};

void check(const TransactionWorkload& workload,
           const TransactionOptions& options) {
  const bool is_load = workload.objects >= 1 && workload.picks >= 0 &&
                       workload.picks <= workload.objects && workload.length &&
                       workload.pause;
  if (!is_load)
    throw Error(ErrorCode::kInvalidArgument, "simulate_transactions",
                "workload '{}' asks for {} of {} objects, or has no times",
                workload.name, workload.picks, workload.objects);
  if (options.cores < 1 || !(options.time > 0) || std::isinf(options.time) ||
      !(options.cleanup > 0))
    throw Error(ErrorCode::kInvalidArgument, "simulate_transactions",
                "cannot simulate {} cores for {} ns with a cleanup of {} ns",
                options.cores, options.time, options.cleanup);
}

}  // namespace

TransactionStatistics simulate_transactions(const TransactionWorkload& workload,
                                            const TransactionOptions& options) {
  check(workload, options);
  if (!options.policy)
    throw Error(ErrorCode::kInvalidArgument, "simulate_transactions",
                "there is no policy");
  return TransactionSimulator(workload, options).run();
}

// The sweep reaches from a tenth of the shortest mean length of the workloads
// to far beyond the longest.
TunedDelay tune_fixed_delay(const TransactionWorkload& workload,
                            const TransactionOptions& options) {
  constexpr double kShortest = 10;
  constexpr double kLongest = 1e5;
  constexpr double kFactor = 1.5;
  TunedDelay best;
  for (double delay = kShortest; delay < kLongest; delay *= kFactor) {
    const auto policy = make_conflict_policy("fixed", {{"delay_ns", delay}});
    // All delays meet the same load, as the seed is one.
    TransactionOptions tried = options;
    tried.policy = policy.get();
    const TransactionStatistics found = simulate_transactions(workload, tried);
    // The shortest of equally good delays is kept.
    if (found.commits > best.statistics.commits) best = {delay, found};
  }
  return best;
}

}  // namespace weft::concurrent
