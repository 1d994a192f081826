#include "weft/market/settlement.h"

#include <algorithm>
#include <numeric>

#include "weft/market/checking.h"

namespace weft::market {
namespace {

// Prices are of so many reads, and of so many units of work: money comes in
// whole numbers, and one read costs less than the least of them.
constexpr Amount kReadsOfPrice = 1000;
constexpr Amount kUnitsOfPrice = 1'000'000;
constexpr std::int64_t kMillionths = 1'000'000;
// One cheat costs what five honest jobs have brought.
constexpr std::int64_t kReputationOfJob = 1;
constexpr std::int64_t kReputationOfCheat = 5;

Amount total_of(const std::vector<Amount>& amounts) {
  Amount sum = 0;
  for (const Amount amount : amounts) sum = sum_of(sum, amount, "reads");
  return sum;
}

Amount platform_of(const State& state, Amount of_others) {
  return scaled(of_others, state.genesis.platform_millionths, kMillionths,
                "the platform's part");
}

const Database& database_of(const State& state, std::int64_t shard) {
  return entry(state.databases, entry(state.shards, shard, "shard").database,
               "database");
}

// What the shards of a job are paid by: what it says, or their sizes where that
// is nothing.
std::vector<Amount> weights_of(const State& state, const Job& job,
                               const std::vector<std::size_t>& shards,
                               const std::vector<std::int64_t>& reads,
                               const std::vector<std::int64_t>& values) {
  std::vector<Amount> weights;
  for (const std::size_t i : shards) {
    weights.push_back(job.pays_by_value && !values.empty() ? values[i]
                                                           : reads[i]);
  }
  if (std::ranges::all_of(weights, [](Amount w) { return w == 0; })) {
    weights.clear();
    for (const std::size_t i : shards) {
      weights.push_back(entry(state.shards, job.shards[i], "shard").examples);
    }
  }
  return weights;
}

std::vector<Amount> data_cost(const State& state, const Job& job,
                              const std::vector<std::int64_t>& reads,
                              const std::vector<std::int64_t>& values) {
  std::map<std::int64_t, std::vector<std::size_t>> of_database;
  for (std::size_t i = 0; i < job.shards.size(); ++i) {
    of_database[entry(state.shards, job.shards[i], "shard").database].push_back(
        i);
  }
  // The price is rounded once for a database and then split, so that many small
  // shards cost what one large shard does.
  std::vector<Amount> parts(job.shards.size());
  for (const auto& [database, shards] : of_database) {
    Amount read = 0;
    for (const std::size_t i : shards) read = sum_of(read, reads[i], "reads");
    const Amount due =
        scaled(read, entry(state.databases, database, "database").price,
               kReadsOfPrice, "the price of data");
    const std::vector<Amount> split =
        split_by(due, weights_of(state, job, shards, reads, values));
    for (std::size_t i = 0; i < shards.size(); ++i) parts[shards[i]] = split[i];
  }
  return parts;
}

std::vector<Amount> prices_of(const Job& job) {
  std::vector<Amount> prices;
  for (const Assignment& assignment : job.assignments) {
    if (assignment.state == AssignmentState::kReported) {
      prices.push_back(assignment.price);
    }
  }
  return prices;
}

void release(State& state, const Assignment& assignment) {
  state.workers.at(assignment.worker).job = 0;
}

void end_job(State& state, std::int64_t number, JobState how,
             std::string outcome, std::vector<std::string>& notes) {
  Job& job = entry(state.jobs, number, "job");
  for (Assignment& assignment : job.assignments) {
    if (assignment.state != AssignmentState::kRunning) continue;
    assignment.state = AssignmentState::kReleased;
    release(state, assignment);
  }
  // What nobody has earned goes back, however the job ends.
  state.give(job.payer, job.escrow);
  job.escrow = 0;
  for (std::size_t i = 0; i < job.shards.size(); ++i) {
    entry(state.associations, database_of(state, job.shards[i]).association,
          "association")
        .end_job(job.periods[i]);
  }
  job.state = how;
  job.outcome = std::move(outcome);
  state.live_jobs.erase(number);
  notes.push_back(
      fmt::format("job {} {}: {}", number, to_string(how), job.outcome));
}

bool agree(const Report& a, const Report& b) {
  return a.outputs == b.outputs && a.status == b.status && a.reads == b.reads &&
         a.values == b.values;
}

}  // namespace

Amount Cost::of_data() const {
  return std::accumulate(data.begin(), data.end(), Amount{0});
}

Amount hardware_due(const Job& job, std::int64_t reads, Amount price) {
  const Amount units = scaled(reads, job.units_per_example, 1, "work");
  return scaled(units, price, kUnitsOfPrice, "the price of work");
}

Cost cost_of(const State& state, const Job& job,
             const std::vector<std::int64_t>& reads,
             const std::vector<std::int64_t>& values,
             const std::vector<Amount>& prices) {
  Cost cost;
  const Amount all = total_of(reads);
  for (const Amount price : prices) {
    cost.hardware = sum_of(cost.hardware, hardware_due(job, all, price),
                           "the price of work");
  }
  cost.data = data_cost(state, job, reads, values);
  const Amount of_others =
      sum_of(cost.hardware, total_of(cost.data), "the price of a job");
  cost.platform = platform_of(state, of_others);
  // This throws where total() would be more money than there may be.
  sum_of(of_others, cost.platform, "the price of a job");
  return cost;
}

std::int64_t most_reads(const State& state, const Job& job, Amount price) {
  // Reads of the dearest database are counted, as nobody knows yet of which
  // they will be.
  Amount dearest = 0;
  for (const std::int64_t shard : job.shards) {
    dearest = std::max(dearest, database_of(state, shard).price);
  }
  const auto pays = [&](std::int64_t reads) {
    const Amount work =
        scaled(hardware_due(job, reads, price), job.redundancy, 1, "work");
    const Amount data =
        scaled(reads, dearest, kReadsOfPrice, "the price of data");
    const Amount of_others = sum_of(work, data, "the price of a job");
    return sum_of(of_others, platform_of(state, of_others),
                  "the price of a job") <= job.gas;
  };
  const auto is_paid = [&](std::int64_t reads) {
    try {
      return pays(reads);
    } catch (const Error&) {
      return false;  // it would be more money than there may be
    }
  };
  // Prices grow with reads, but each part of them is rounded by itself: the
  // most is searched for, as a division would be off by some.
  std::int64_t fits = 0;
  std::int64_t beyond = total_of(job.reads_due) + 1;
  while (beyond - fits > 1) {
    const std::int64_t middle = fits + (beyond - fits) / 2;
    (is_paid(middle) ? fits : beyond) = middle;
  }
  return fits;
}

std::optional<std::string> refutation(const State& state, const Job& job,
                                      const Assignment& assignment,
                                      const Report& report,
                                      const Signature& signature) {
  if (!is_signed(report, signature,
                 state.workers.at(assignment.worker).machine)) {
    return "it is not signed by the worker's machine";
  }
  if (report.nonce != assignment.nonce) return "its nonce is of another job";
  if (report.measurement != job.measurement) {
    return "another program ran than the job asks for";
  }
  std::vector<Digest> contents;
  for (const std::int64_t shard : job.shards) {
    contents.push_back(entry(state.shards, shard, "shard").content);
  }
  if (report.inputs != inputs_digest(job, contents)) {
    return "it read other inputs";
  }
  if (report.reads.size() != job.shards.size()) {
    return "it does not count the reads of each shard";
  }
  if (!report.values.empty() && report.values.size() != job.shards.size()) {
    return "it does not tell the value of each shard";
  }
  const bool has_stages =
      job.checking.draws > 0 && report.status != JobStatus::kError;
  if (has_stages && (report.stages < 1 || report.states == Digest{})) {
    return "it commits itself to no states";
  }
  if (!has_stages && (report.stages != 0 || report.states != Digest{})) {
    return "it tells of states that nobody asked for";
  }
  if (job.pays_by_value && report.values.empty() &&
      report.status != JobStatus::kError) {
    return "it tells no values of shards";
  }
  Amount read = 0;
  for (std::size_t i = 0; i < report.reads.size(); ++i) {
    if (report.reads[i] > job.reads_due[i]) {
      return "it counts more reads than the job has";
    }
    read += report.reads[i];
  }
  const bool is_whole = report.reads == job.reads_due;
  switch (report.status) {
    case JobStatus::kSuccess:
      if (!is_whole) return "it read less than the job asks for";
      if (read > job.most_reads) return "it read more than the gas pays";
      break;
    case JobStatus::kPartial:
      // Otherwise a worker could stop early, and be paid for what it did.
      if (is_whole || job.most_reads >= total_of(job.reads_due)) {
        return "the gas pays all of the job";
      }
      if (read > job.most_reads) return "it read more than the gas pays";
      break;
    case JobStatus::kError:
      if (read != 0) return "it counts reads of a job that failed";
      break;
  }
  return std::nullopt;
}

void slash(State& state, std::int64_t job, Assignment& assignment,
           AssignmentState reason) {
  Worker& worker = state.workers.at(assignment.worker);
  const Amount lost = std::min(worker.stake, state.genesis.slashed_stake);
  worker.stake -= lost;
  state.give(entry(state.jobs, job, "job").payer, lost);
  worker.reputation -= kReputationOfCheat;
  // One that had reported may be at another job by now.
  if (worker.job == job) worker.job = 0;
  assignment.state = reason;
}

void compare_reports(State& state, std::int64_t number,
                     std::vector<std::string>& notes) {
  Job& job = entry(state.jobs, number, "job");
  const auto is_reported = [](const Assignment& assignment) {
    return assignment.state == AssignmentState::kReported;
  };
  const auto reported = std::ranges::count_if(job.assignments, is_reported);
  for (const Assignment& candidate : job.assignments) {
    if (!is_reported(candidate)) continue;
    const Report agreed = *candidate.report;
    const auto same = [&](const Assignment& other) {
      return is_reported(other) && agree(*other.report, agreed);
    };
    if (std::ranges::count_if(job.assignments, same) < job.redundancy) continue;
    for (Assignment& other : job.assignments) {
      if (!is_reported(other) || same(other)) continue;
      slash(state, number, other, AssignmentState::kRefuted);
      notes.push_back(
          fmt::format("{} is slashed: others agree on another "
                      "result of job {}",
                      short_name(other.worker), number));
    }
    if (agreed.status == JobStatus::kError) {
      return give_up(state, number, "its program failed", notes);
    }
    if (job.checking.draws > 0) return begin_check(state, number, notes);
    return pay_workers(state, number, agreed, notes);
  }
  if (reported < job.slots) return;  // others are at it
  // Were as many honest as must agree, they would have agreed by now: of
  // another worker nothing is to be hoped.
  if (job.slots == 2 * job.redundancy - 1) {
    return give_up(state, number, "its workers do not agree", notes);
  }
  ++job.slots;
  notes.push_back(fmt::format(
      "the results of job {} differ: one more worker decides", number));
}

void pay_workers(State& state, std::int64_t number, const Report& agreed,
                 std::vector<std::string>& notes) {
  Job& job = entry(state.jobs, number, "job");
  job.result = agreed;
  const Cost cost =
      cost_of(state, job, agreed.reads, agreed.values, prices_of(job));
  WEFT_CHECK(cost.total() <= job.escrow, "job {} costs {} of {}", number,
             cost.total(), job.escrow);
  const Amount reads = total_of(agreed.reads);
  for (const Assignment& assignment : job.assignments) {
    if (assignment.state != AssignmentState::kReported) continue;
    const Amount due = hardware_due(job, reads, assignment.price);
    state.give(assignment.worker, due);
    job.escrow -= due;
    state.workers.at(assignment.worker).reputation += kReputationOfJob;
  }
  // Workers have done their part and are paid at once. Whoever owns the data
  // may have asked for records first.
  const Amount withheld = cost.of_data() + cost.platform;
  state.give(job.payer, job.escrow - withheld);
  job.escrow = withheld;
  job.state = JobState::kWithheld;
  if (are_met(job, job.pays_when)) {
    pay_data(state, number, notes);
  } else {
    notes.push_back(
        fmt::format("job {} is done, and its data wait for a record", number));
  }
}

void pay_data(State& state, std::int64_t number,
              std::vector<std::string>& notes) {
  Job& job = entry(state.jobs, number, "job");
  const Report& result = *job.result;
  const Cost cost =
      cost_of(state, job, result.reads, result.values, prices_of(job));
  for (std::size_t i = 0; i < job.shards.size(); ++i) {
    const Shard& shard = entry(state.shards, job.shards[i], "shard");
    if (job.pays_curators) {
      state.give(shard.curator, cost.data[i]);
    } else {
      // Dividends are of those who held shares when the job began.
      entry(state.associations, database_of(state, job.shards[i]).association,
            "association")
          .pay(job.periods[i], cost.data[i]);
    }
  }
  state.give(state.genesis.platform, cost.platform);
  job.escrow -= cost.of_data() + cost.platform;
  end_job(state, number, JobState::kPaid, std::string(to_string(result.status)),
          notes);
}

void give_up(State& state, std::int64_t number, std::string why,
             std::vector<std::string>& notes) {
  end_job(state, number, JobState::kFailed, std::move(why), notes);
}

bool are_met(const Job& job, const std::vector<Condition>& conditions) {
  return std::ranges::all_of(conditions, [&](const Condition& condition) {
    return std::ranges::find(job.met, condition) != job.met.end();
  });
}

}  // namespace weft::market
