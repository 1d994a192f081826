#include "weft/market/checking.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <numeric>

#include "weft/market/settlement.h"

namespace weft::market {
namespace {

// Whole numbers from 1 to a bound, all of them as likely, of a digest.
class Draws {
 public:
  explicit Draws(const Digest& seed) : seed_(to_hex(seed)) {}

  std::int64_t up_to(std::int64_t most) {
    const auto bound = static_cast<std::uint64_t>(most);
    // What lies beyond the last whole multiple would favour small numbers.
    const std::uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
    for (;;) {
      const Digest digest =
          digest_of_bytes(fmt::format("{} {}", seed_, counter_++));
      std::uint64_t number = 0;
      for (int i = 0; i < 8; ++i) {
        number = number << 8 | digest[static_cast<std::size_t>(i)];
      }
      if (number < limit) return static_cast<std::int64_t>(number % bound) + 1;
    }
  }

 private:
  std::string seed_;
  std::int64_t counter_ = 0;
};

std::int64_t reported_checkers(const Job& job, bool holds) {
  return std::ranges::count_if(job.checking.checkers, [&](const Checker& one) {
    return one.assignment.state == AssignmentState::kReported &&
           one.holds == holds;
  });
}

// The worker and its checkers may have other jobs.
void end_check(State& state, Job& job) {
  state.workers.at(checked_assignment(job).worker).job = 0;
  for (Checker& checker : job.checking.checkers) {
    if (checker.assignment.state != AssignmentState::kRunning) continue;
    checker.assignment.state = AssignmentState::kReleased;
    state.workers.at(checker.assignment.worker).job = 0;
  }
}

// The report counts, whether or not somebody has looked at it.
void accept_report(State& state, std::int64_t number, const std::string& why,
                   std::vector<std::string>& notes) {
  Job& job = entry(state.jobs, number, "job");
  end_check(state, job);
  notes.push_back(fmt::format("the report on job {} counts: {}", number, why));
  const Report report = *checked_assignment(job).report;
  pay_workers(state, number, report, notes);
}

// The report does not count: the job goes to another worker, whose report is
// checked by another secret.
void refute(State& state, std::int64_t number, AssignmentState how,
            const std::string& why, std::vector<std::string>& notes) {
  Job& job = entry(state.jobs, number, "job");
  end_check(state, job);
  Assignment& assignment = checked_assignment(job);
  notes.push_back(fmt::format("{} is slashed for its report on job {}: {}",
                              short_name(assignment.worker), number, why));
  slash(state, number, assignment, how);
  job.checking.drawn.clear();
  job.checking.checkers.clear();
  job.state = JobState::kRunning;
}

void pay_checker(State& state, Job& job, const Assignment& checker) {
  const Amount due = check_due(job, checker.price);
  WEFT_CHECK(due <= job.checking.gas && due <= job.escrow);
  job.checking.gas -= due;
  job.escrow -= due;
  state.give(checker.worker, due);
  ++state.workers.at(checker.worker).reputation;
}

// Slashes the checker that was alone with its verdict.
void slash_lone_checker(State& state, std::int64_t number, bool holds,
                        std::vector<std::string>& notes) {
  Job& job = entry(state.jobs, number, "job");
  for (Checker& checker : job.checking.checkers) {
    if (checker.assignment.state != AssignmentState::kReported ||
        checker.holds == holds) {
      continue;
    }
    slash(state, number, checker.assignment, AssignmentState::kRefuted);
    notes.push_back(
        fmt::format("{} is slashed: others find of the report on job {} that "
                    "it holds",
                    short_name(checker.assignment.worker), number));
  }
}

}  // namespace

std::vector<std::int64_t> draw_stages(const Digest& market,
                                      const Digest& secret,
                                      const Report& report,
                                      std::int64_t draws) {
  Draws random(digest_of_bytes(fmt::format(
      "weft market draw\n{} {} {} {}", to_hex(market), to_hex(secret),
      to_hex(report.nonce), to_hex(report.states))));
  // Floyd's sample: each set of that size is as likely (Bentley and Floyd,
  // "Programming Pearls: A Sample of Brilliance", 1987).
  std::set<std::int64_t> drawn;
  const std::int64_t first = std::max<std::int64_t>(0, report.stages - draws);
  for (std::int64_t last = first + 1; last <= report.stages; ++last) {
    if (!drawn.insert(random.up_to(last)).second) drawn.insert(last);
  }
  return {drawn.begin(), drawn.end()};
}

Assignment& checked_assignment(Job& job) {
  const auto found = std::ranges::find(
      job.assignments, AssignmentState::kReported, &Assignment::state);
  WEFT_CHECK(found != job.assignments.end(), "no report is there to check");
  return *found;
}

const Assignment& checked_assignment(const Job& job) {
  return checked_assignment(const_cast<Job&>(job));
}

Checker* running_checker(Job& job) {
  for (Checker& checker : job.checking.checkers) {
    if (checker.assignment.state == AssignmentState::kRunning) return &checker;
  }
  return nullptr;
}

const Checker* running_checker(const Job& job) {
  return running_checker(const_cast<Job&>(job));
}

void begin_check(State& state, std::int64_t number,
                 std::vector<std::string>& notes) {
  Job& job = entry(state.jobs, number, "job");
  job.state = JobState::kChecking;
  job.checking.begun = state.time;
  // It gets no other job, so that it can open its states when they are drawn.
  state.workers.at(checked_assignment(job).worker).job = number;
  notes.push_back(fmt::format(
      "job {} is done, and {} of its {} stages are checked when its payer "
      "reveals the secret",
      number,
      std::min(job.checking.draws, checked_assignment(job).report->stages),
      checked_assignment(job).report->stages));
}

void draw(State& state, std::int64_t number, const Digest& secret,
          std::vector<std::string>& notes) {
  Job& job = entry(state.jobs, number, "job");
  job.checking.drawn =
      draw_stages(state.market, secret, *checked_assignment(job).report,
                  job.checking.draws);
  notes.push_back(fmt::format("stages {} of job {} are drawn",
                              fmt::join(job.checking.drawn, ", "), number));
}

void take_verdict(State& state, std::int64_t number, bool holds,
                  std::vector<std::string>& notes) {
  Job& job = entry(state.jobs, number, "job");
  Checker& checker = *running_checker(job);
  checker.holds = holds;
  checker.assignment.state = AssignmentState::kReported;
  state.workers.at(checker.assignment.worker).job = 0;
  pay_checker(state, job, checker.assignment);
  if (holds) {
    slash_lone_checker(state, number, holds, notes);
    return accept_report(state, number, "its stages hold", notes);
  }
  if (reported_checkers(job, /*holds=*/false) > 1) {
    return refute(state, number, AssignmentState::kRefuted,
                  "two checkers compute other states", notes);
  }
  notes.push_back(fmt::format(
      "a stage of job {} does not hold: a second checker decides", number));
}

void look_at_check(State& state, std::int64_t number,
                   std::vector<std::string>& notes) {
  Job& job = entry(state.jobs, number, "job");
  const auto is_late = [&](std::int64_t begun) {
    return state.time > begun + job.seconds;
  };
  if (job.checking.drawn.empty()) {
    if (!is_late(job.checking.begun)) return;
    return accept_report(state, number, "its payer has not revealed the secret",
                         notes);
  }
  Checker* checker = running_checker(job);
  if (checker != nullptr && checker->evidence.empty() &&
      is_late(checker->assignment.begun)) {
    return refute(state, number, AssignmentState::kLate,
                  "it has not opened its states", notes);
  }
  if (checker != nullptr && !checker->evidence.empty() &&
      is_late(checker->opened)) {
    slash(state, number, checker->assignment, AssignmentState::kLate);
    notes.push_back(
        fmt::format("{} is slashed: the check of job {} took it "
                    "too long",
                    short_name(checker->assignment.worker), number));
  }
  if (state.time <= job.deadline || running_checker(job) != nullptr) return;
  // Who is right of a worker and one checker nobody knows.
  if (reported_checkers(job, /*holds=*/false) > 0) {
    end_check(state, job);
    return give_up(state, number, "no second checker has decided in time",
                   notes);
  }
  accept_report(state, number, "nobody checks it for this check_gas", notes);
}

bool needs_checker(const Job& job) {
  return !job.checking.drawn.empty() && running_checker(job) == nullptr;
}

Amount check_due(const Job& job, Amount price) {
  const Report& report = *checked_assignment(job).report;
  const Amount reads =
      std::accumulate(report.reads.begin(), report.reads.end(), Amount{0});
  // At least a read, so that no check is for nothing.
  const Amount part =
      std::max<Amount>(1, scaled(reads, std::ssize(job.checking.drawn),
                                 report.stages, "the reads of a check"));
  return hardware_due(job, part, price);
}

Amount most_for_checker(const Job& job) {
  return reported_checkers(job, /*holds=*/false) > 0 ? job.checking.gas
                                                     : job.checking.gas / 2;
}

}  // namespace weft::market
