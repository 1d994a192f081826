// What jobs cost, who is paid, and what becomes of those who cheat.
//
// Threads: caller synchronises.
#pragma once

#include "weft/market/state.h"

namespace weft::market {

struct Cost {
  Amount hardware = 0;
  std::vector<Amount> data;  // of each shard
  Amount platform = 0;

  Amount of_data() const;
  Amount total() const { return hardware + of_data() + platform; }
};

// What so many reads cost, by workers of these prices. Databases are paid by
// the thousand reads; within one, its shards by what the job says. Throws
// Error(kInvalidArgument) where that is more money than there may be.
Cost cost_of(const State& state, const Job& job,
             const std::vector<std::int64_t>& reads,
             const std::vector<std::int64_t>& values,
             const std::vector<Amount>& prices);
// The most examples that the job's gas pays for, if `workers` ask this price.
std::int64_t most_reads(const State& state, const Job& job, Amount price);

// Takes a report of the assignment, whose worker has signed the transaction:
// one that is false costs the worker stake. Why it is false, or nothing.
std::optional<std::string> refutation(const State& state, const Job& job,
                                      const Assignment& assignment,
                                      const Report& report,
                                      const Signature& signature);
// The worker loses stake to the payer, and the job.
void slash(State& state, std::int64_t job, Assignment& assignment,
           AssignmentState reason);
// Goes on once a report came in: pays, or has it checked (checking.h), if
// enough workers agree, asks for one more if they do not.
void compare_reports(State& state, std::int64_t number,
                     std::vector<std::string>& notes);
// Workers are paid for a report that holds, and are free again; data are paid,
// too, or wait for their conditions.
void pay_workers(State& state, std::int64_t number, const Report& agreed,
                 std::vector<std::string>& notes);
// What a worker of that price gets for so many units of a report's work.
Amount hardware_due(const Job& job, std::int64_t reads, Amount price);
// The data of a withheld job are paid, its conditions being met.
void pay_data(State& state, std::int64_t number,
              std::vector<std::string>& notes);
// Gives the job up: what is not paid goes back to the payer.
void give_up(State& state, std::int64_t number, std::string why,
             std::vector<std::string>& notes);

// Whether all of `conditions` are among those that the job has seen met.
bool are_met(const Job& job, const std::vector<Condition>& conditions);

}  // namespace weft::market
