// Which workers get which jobs: a reverse auction. Jobs are served in their
// order, each by the workers who ask least; of two who ask the same, by the one
// of better repute, and then of the smaller key.
//
// A worker gets what it asks, or, where the market pays second prices, what the
// next one asks who was not taken (Vickrey, 1961): then nobody gains by asking
// more than the work costs.
#include <algorithm>
#include <functional>

#include "weft/market/checking.h"
#include "weft/market/settlement.h"
#include "weft/market/state.h"

namespace weft::market {
namespace {

struct Bid {
  Amount price = 0;
  std::int64_t reputation = 0;
  PublicKey worker{};
};

bool has_had(const Job& job, const PublicKey& worker) {
  const auto is_theirs = [&](const Assignment& one) {
    return one.worker == worker;
  };
  return std::ranges::any_of(job.assignments, is_theirs) ||
         std::ranges::any_of(job.checking.checkers, is_theirs,
                             &Checker::assignment);
}

// Those who may have it, the cheapest first. `is_cheap` says of a price whether
// the job can pay it.
std::vector<Bid> bids_for(const State& state, const Job& job,
                          const std::function<bool(Amount)>& is_cheap) {
  std::vector<Bid> bids;
  for (const auto& [key, worker] : state.workers) {
    const bool is_free = worker.is_active && worker.job == 0 &&
                         worker.stake >= state.genesis.least_stake;
    const bool takes = worker.tasks.empty() || worker.tasks.contains(job.task);
    if (is_free && takes && is_cheap(worker.price) && key != job.payer &&
        !has_had(job, key)) {
      bids.push_back({worker.price, worker.reputation, key});
    }
  }
  std::sort(bids.begin(), bids.end(), [](const Bid& a, const Bid& b) {
    return std::tuple(a.price, -a.reputation, a.worker) <
           std::tuple(b.price, -b.reputation, b.worker);
  });
  return bids;
}

// Each worker and time gets another: a report answers one assignment alone.
Digest nonce_of(const State& state, std::string_view what, std::int64_t job,
                std::size_t index) {
  return digest_of_bytes(fmt::format("weft market {}\n{} {} {} {}", what,
                                     to_hex(state.market), to_hex(state.root),
                                     job, index));
}

void assign(State& state, std::int64_t number, const Bid& bid, Amount price,
            std::vector<std::string>& notes) {
  Job& job = entry(state.jobs, number, "job");
  job.assignments.push_back(
      {.worker = bid.worker,
       .price = price,
       .nonce = nonce_of(state, "nonce", number, job.assignments.size()),
       .begun = state.time});
  state.workers.at(bid.worker).job = number;
  notes.push_back(fmt::format("job {} is given to {} at {}", number,
                              short_name(bid.worker), price));
}

// The cheapest that half of the checks' gas pays, at its own price.
void match_checker(State& state, std::int64_t number,
                   std::vector<std::string>& notes) {
  Job& job = entry(state.jobs, number, "job");
  if (!needs_checker(job)) return;
  const std::vector<Bid> bids = bids_for(state, job, [&](Amount price) {
    return check_due(job, price) <= most_for_checker(job);
  });
  if (bids.empty()) return;
  auto& checkers = job.checking.checkers;
  checkers.push_back({.assignment = {.worker = bids[0].worker,
                                     .price = bids[0].price,
                                     .nonce = nonce_of(state, "check nonce",
                                                       number, checkers.size()),
                                     .begun = state.time}});
  state.workers.at(bids[0].worker).job = number;
  notes.push_back(fmt::format("{} checks job {} at {}",
                              short_name(bids[0].worker), number,
                              bids[0].price));
}

std::int64_t missing_workers(const Job& job) {
  const auto there =
      std::ranges::count_if(job.assignments, [](const Assignment& one) {
        return one.state == AssignmentState::kRunning ||
               one.state == AssignmentState::kReported;
      });
  return job.slots - there;
}

void match(State& state, std::int64_t number, std::vector<std::string>& notes) {
  Job& job = entry(state.jobs, number, "job");
  if (job.state == JobState::kChecking) {
    return match_checker(state, number, notes);
  }
  if (job.state == JobState::kWithheld || !are_met(job, job.needs)) return;
  const std::int64_t missing = missing_workers(job);
  if (missing <= 0) return;
  const std::vector<Bid> bids = bids_for(state, job, [&](Amount price) {
    return job.most_reads == 0 || price <= job.most_price;
  });
  if (std::ssize(bids) < missing) return;
  const auto taken = static_cast<std::size_t>(missing);
  const bool is_second = state.genesis.pays_second_price && taken < bids.size();
  const auto price_of = [&](const Bid& bid) {
    return is_second ? bids[taken].price : bid.price;
  };
  if (job.most_reads == 0) {
    const Amount price = price_of(bids[taken - 1]);
    const std::int64_t reads = most_reads(state, job, price);
    // Nobody asks less, so that its gas pays for no example at all.
    if (reads == 0) {
      return give_up(state, number, "its gas does not pay for one example",
                     notes);
    }
    job.most_reads = reads;
    job.most_price = price;
  }
  for (std::size_t i = 0; i < taken; ++i) {
    assign(state, number, bids[i], price_of(bids[i]), notes);
  }
  job.state = JobState::kRunning;
}

}  // namespace

void end_block(State& state, std::vector<std::string>& notes) {
  const std::set<std::int64_t> jobs = state.live_jobs;
  for (const std::int64_t number : jobs) match(state, number, notes);
}

}  // namespace weft::market
