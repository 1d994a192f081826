// weft-concurrent-bench conflict --draws N: what each delay costs against each
// remaining time, by drawing; the paper's synthetic table; and the simulated
// machine whose transactions collide.
#include <algorithm>
#include <cstdint>
#include <fmt/core.h>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bench/concurrent/command.h"

#include "weft/concurrent/conflict/delay_law.h"
#include "weft/concurrent/conflict/policy_registry.h"
#include "weft/concurrent/conflict/transaction_simulator.h"

namespace weft {
namespace {

using namespace concurrent;
using Json = nlohmann::json;

constexpr auto kWins = Protocol::kRequestorWins;
constexpr auto kAborts = Protocol::kRequestorAborts;

const char* name_of(Protocol protocol) {
  return protocol == kWins ? "RW" : "RA";
}

// One from each of `draws` equally likely parts of the law.
std::vector<double> draw(const DelayLaw& law, std::int64_t draws) {
  FastRandom random(1, 0);
  std::vector<double> delays;
  for (std::int64_t i = 0; i < draws; ++i)
    delays.push_back(law.quantile((static_cast<double>(i) + random.unit()) /
                                  static_cast<double>(draws)));
  return delays;
}

double mean_cost(const Stakes& stakes, double remaining,
                 const std::vector<double>& delays) {
  double sum = 0;
  for (const double delay : delays)
    sum += conflict_cost(stakes, remaining, delay);
  return sum / static_cast<double>(delays.size());
}

// Expected over least cost by D / B, and the ratio that it should be.
Json make_curves(std::int64_t draws) {
  constexpr double kCost = 2000;
  Json curves = Json::array();
  for (const Protocol protocol : {kWins, kAborts})
    for (const int chain : {2, 3, 4, 5, 10}) {
      const Stakes stakes{
          .protocol = protocol, .abort_cost = kCost, .chain = chain};
      const DelayLaw law = DelayLaw::worst_case(stakes);
      const std::vector<double> delays = draw(law, draws);
      Json points = Json::array();
      for (double share = 0.01; share < 10; share *= 1.25) {
        const double remaining = share * kCost;
        const double least = least_cost(stakes, remaining);
        const auto ratio = [&](double delay) {
          return conflict_cost(stakes, remaining, delay) / least;
        };
        points.push_back(
            {{"remaining", share},
             {"random", mean_cost(stakes, remaining, delays) / least},
             {"deterministic", ratio(stakes.longest_delay())},
             {"no-delay", ratio(0)}});
      }
      const double worst = stakes.longest_delay() * (1 + 1e-9);
      curves.push_back({{"protocol", name_of(protocol)},
                        {"chain", chain},
                        {"ratio", law.ratio(0)},
                        {"deterministic_ratio", deterministic_ratio(stakes)},
                        {"deterministic_worst",
                         conflict_cost(stakes, worst, stakes.longest_delay()) /
                             least_cost(stakes, worst)},
                        {"points", points}});
    }
  return curves;
}

struct Lengths {
  const char* name;
  std::function<double(std::mt19937_64&)> draw;
};

// What a transaction may have left to do, all with one mean.
std::vector<Lengths> distributions(double mean) {
  const auto of = [](auto distribution) {
    return [distribution](std::mt19937_64& random) mutable {
      return std::max(0.0, static_cast<double>(distribution(random)));
    };
  };
  return {{"exponential", of(std::exponential_distribution<>(1 / mean))},
          {"geometric", of(std::geometric_distribution<>(1 / (mean + 1)))},
          {"normal", of(std::normal_distribution<>(mean, mean / 4))},
          {"uniform", of(std::uniform_real_distribution<>(0, 2 * mean))},
          {"poisson", of(std::poisson_distribution<>(mean))}};
}

// Mean costs of one conflict of two.
Json make_table(std::int64_t draws) {
  constexpr double kMean = 500;
  Json table = Json::array();
  for (const double cost : {2000.0, 200.0})
    for (const Lengths& lengths : distributions(kMean)) {
      std::mt19937_64 random(1);
      FastRandom delays(2, 0);
      const Stakes wins{.protocol = kWins, .abort_cost = cost, .chain = 2};
      const Stakes aborts{.protocol = kAborts, .abort_cost = cost, .chain = 2};
      const auto laws = [&](const Stakes& stakes) {
        return std::pair(DelayLaw::worst_case(stakes),
                         DelayLaw::best(stakes, kMean));
      };
      const auto [rrw, rrw_mean] = laws(wins);
      const auto [rra, rra_mean] = laws(aborts);
      std::map<std::string, double> sums;
      for (std::int64_t i = 0; i < draws; ++i) {
        const double left = lengths.draw(random);
        sums["OPT"] += least_cost(wins, left);
        sums["NO_DELAY"] += conflict_cost(wins, left, 0);
        sums["DET-RW"] += conflict_cost(wins, left, cost);
        sums["DET-RA"] += conflict_cost(aborts, left, cost);
        sums["RRW"] += conflict_cost(wins, left, rrw.sample(delays));
        sums["RRW(mu)"] += conflict_cost(wins, left, rrw_mean.sample(delays));
        sums["RRA"] += conflict_cost(aborts, left, rra.sample(delays));
        sums["RRA(mu)"] += conflict_cost(aborts, left, rra_mean.sample(delays));
      }
      for (auto& [name, sum] : sums) sum /= static_cast<double>(draws);
      table.push_back(
          {{"abort_cost", cost}, {"lengths", lengths.name}, {"costs", sums}});
    }
  return table;
}

TransactionStatistics simulate(const TransactionWorkload& workload,
                               const std::string& policy, int cores, bool wins,
                               double time) {
  const auto made = make_conflict_policy(policy);
  return simulate_transactions(workload, {.cores = cores,
                                          .policy = made.get(),
                                          .can_kill_owner = wins,
                                          .knows_remaining = policy == "oracle",
                                          .time = time});
}

// Commits per microsecond.
Json make_machine(double time) {
  Json rows = Json::array();
  // What one would have tuned on the stack with 8 cores.
  const TunedDelay habit = tune_fixed_delay(transaction_workload("stack"),
                                            {.cores = 8, .time = time});
  const auto tuned = make_conflict_policy("fixed", {{"delay_ns", habit.delay}});
  for (const std::string& name : transaction_workload_names())
    for (const bool wins : {true, false})
      for (const int cores : {1, 2, 4, 8, 16, 32, 64}) {
        const TransactionWorkload& workload = transaction_workload(name);
        const auto rate = [](const TransactionStatistics& found) {
          return 1000 * static_cast<double>(found.commits) / found.time;
        };
        Json rates;
        for (const char* policy :
             {"no-delay", "deterministic", "random", "random-mean", "hybrid",
              "oracle", "backoff", "karma", "timestamp"})
          rates[policy] = rate(simulate(workload, policy, cores, wins, time));
        rates["tuned"] =
            rate(simulate_transactions(workload, {.cores = cores,
                                                  .policy = tuned.get(),
                                                  .can_kill_owner = wins,
                                                  .time = time}));
        rows.push_back({{"workload", name},
                        {"protocol", wins ? "RW" : "RA"},
                        {"cores", cores},
                        {"commits", rates}});
      }
  return {{"tuned_delay", habit.delay}, {"rows", rows}};
}

void conflict(const bench::WorkerOptions& options) {
  const std::int64_t draws = options.integer("draws");
  const Json result{
      {"curves", make_curves(draws)},
      {"table", make_table(draws)},
      {"machine",
       make_machine(static_cast<double>(options.integer("machine-ns")))}};
  fmt::print("{}\n", result.dump());
}

}  // namespace

void register_concurrent_conflict(ConcurrentCommandRegistry& registry) {
  registry.add({"conflict", conflict});
}

}  // namespace weft
