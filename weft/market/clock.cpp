// What happens because time has passed: votes are told, workers that are late
// lose their job, jobs that nobody takes are given up.
#include <algorithm>

#include "weft/market/checking.h"
#include "weft/market/settlement.h"
#include "weft/market/state.h"

namespace weft::market {
namespace {

// All blocks before this one were before the deadline, so that shares are what
// they were at it: who moves them afterwards moves no weight.
void tell_vote(State& state, std::int64_t number,
               std::vector<std::string>& notes) {
  Proposal& proposal = entry(state.proposals, number, "proposal");
  const Association& association =
      entry(state.associations, proposal.association, "association");
  Tally tally;
  for (const auto& [voter, approves] : proposal.votes) {
    (approves ? tally.yea : tally.nay) += association.shares_of(voter);
  }
  proposal.tally = tally;
  if (tally.quorum() < association.rules.quorum || tally.margin() <= 0) {
    proposal.state = Proposal::State::kFailed;
  }
  notes.push_back(fmt::format(
      "proposal {}: {} of {} that are needed voted, {} more for it than "
      "against it{}",
      number, tally.quorum(), association.rules.quorum, tally.margin(),
      proposal.state == Proposal::State::kFailed ? ": it fails" : ""));
}

void look_at_job(State& state, std::int64_t number,
                 std::vector<std::string>& notes) {
  Job& job = entry(state.jobs, number, "job");
  for (Assignment& assignment : job.assignments) {
    if (assignment.state != AssignmentState::kRunning ||
        state.time <= assignment.begun + job.seconds) {
      continue;
    }
    slash(state, number, assignment, AssignmentState::kLate);
    notes.push_back(fmt::format("{} is slashed: job {} took it too long",
                                short_name(assignment.worker), number));
  }
  if (job.state == JobState::kChecking) {
    return look_at_check(state, number, notes);
  }
  if (state.time <= job.deadline) return;
  give_up(state, number,
          job.state == JobState::kWithheld
              ? "the records that its data wait for did not come"
              : "not enough workers did it in time",
          notes);
}

}  // namespace

void begin_block(State& state, std::int64_t time,
                 std::vector<std::string>& notes) {
  if (time < state.time || time > kMostAmount) {
    throw Error(ErrorCode::kInvalidArgument, "block",
                "is of the time {}, before the {} of the one in front of it",
                time, state.time);
  }
  state.time = time;
  ++state.height;
  for (auto it = state.live_proposals.begin();
       it != state.live_proposals.end();) {
    if (entry(state.proposals, *it, "proposal").deadline > time) {
      ++it;
      continue;
    }
    tell_vote(state, *it, notes);
    it = state.live_proposals.erase(it);
  }
  const std::set<std::int64_t> jobs = state.live_jobs;  // some end meanwhile
  for (const std::int64_t number : jobs) look_at_job(state, number, notes);
}

void meet_condition(State& state, const Condition& condition,
                    std::vector<std::string>& notes) {
  const std::set<std::int64_t> jobs = state.live_jobs;
  bool is_awaited = false;
  for (const std::int64_t number : jobs) {
    Job& job = entry(state.jobs, number, "job");
    const auto waits = [&](const std::vector<Condition>& conditions) {
      return std::ranges::find(conditions, condition) != conditions.end();
    };
    if (are_met(job, {condition}) ||
        (!waits(job.needs) && !waits(job.pays_when))) {
      continue;
    }
    is_awaited = true;
    job.met.push_back(condition);
    if (job.state == JobState::kWithheld && are_met(job, job.pays_when)) {
      pay_data(state, number, notes);
    }
  }
  if (!is_awaited) {
    throw Error(ErrorCode::kInvalidArgument, "block",
                "no job waits for the record {}", to_text(condition));
  }
}

}  // namespace weft::market
