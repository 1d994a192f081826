#include "weft/privacy/simulation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "weft/base/error.h"
#include "weft/base/stopwatch.h"
#include "weft/privacy/draws.h"

namespace weft::privacy {
namespace {

constexpr double kZipfExponent = 1;

// Numbers of blocks, of `there` that are.
std::vector<std::size_t> choose_blocks(BlockChoice choice, std::size_t count,
                                       std::size_t there, Draws& draws) {
  std::vector<std::size_t> chosen(count);
  switch (choice) {
    case BlockChoice::kLatest:
      std::iota(chosen.begin(), chosen.end(), there - count);
      return chosen;
    case BlockChoice::kContiguous:
      std::iota(chosen.begin(), chosen.end(), draws.below(there - count + 1));
      return chosen;
    case BlockChoice::kUniform:
    case BlockChoice::kZipf:
      break;
  }
  std::vector<double> weights(there, 1);
  if (choice == BlockChoice::kZipf)
    for (std::size_t i = 0; i < there; ++i)
      weights[i] = std::pow(static_cast<double>(there - i), -kZipfExponent);
  for (std::size_t& block : chosen) {
    block = draws.by_weight(weights);
    weights[block] = 0;  // a claim asks of a block once
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

class Simulation {
 public:
  Simulation(const Workload& workload, const Scheduler& scheduler,
             const SimulationRules& rules)
      : workload_(workload),
        scheduler_(scheduler),
        rules_(rules),
        unlocking_(parse_unlocking(workload.unlocking)),
        capacity_(capacity(workload.budget, budget_orders())),
        draws_(rules.seed, 1) {}

  SimulationResult run();
  BudgetProblem all_that_is_asked();

 private:
  struct Waiting {
    std::size_t task = 0;
    BudgetClaim claim;
    bool is_fair = false;
  };

  // When the last that is unlocked has been scheduled once.
  double end() const;
  // All that arrives up to a time, in its order.
  void arrive(double time);
  void add_task(std::size_t task);
  void unlock(double time);
  void leave(double time);
  void retire();
  bool is_retired(std::size_t block) const;
  bool asks_of_retired(const BudgetClaim& claim) const;
  void schedule(double time);
  void sum_up();

  const Workload& workload_;
  const Scheduler& scheduler_;
  const SimulationRules& rules_;
  Unlocking unlocking_;
  RenyiCurve capacity_;
  Draws draws_;
  std::vector<BudgetBlock> blocks_;
  std::vector<BlockAge> ages_;
  std::vector<double> block_arrivals_;
  std::vector<std::int64_t> block_grants_;
  std::size_t next_task_ = 0;
  std::vector<Waiting> waiting_;
  SimulationResult result_;
};

double Simulation::end() const {
  if (workload_.every == 0) return 0;
  double end = static_cast<double>(workload_.more_blocks) + 1;
  if (!workload_.tasks.empty())
    end = std::max(end, workload_.tasks.back().arrival);
  if (unlocking_.rule.def->name == "time")
    end += option<double>(unlocking_.rule.options, "lifetime");
  return end;
}

void Simulation::arrive(double time) {
  const auto add_blocks = [&](double until) {
    const std::size_t all = workload_.first_blocks + workload_.more_blocks;
    while (blocks_.size() < all) {
      const std::size_t number = blocks_.size();
      const double arrival =
          number < workload_.first_blocks
              ? 0
              : static_cast<double>(number - workload_.first_blocks + 1);
      if (arrival > until) return;
      blocks_.push_back({capacity_, RenyiCurve(capacity_.orders()),
                         RenyiCurve(capacity_.orders())});
      ages_.push_back({});
      block_arrivals_.push_back(arrival);
      block_grants_.push_back(0);
    }
  };
  while (next_task_ < workload_.tasks.size() &&
         workload_.tasks[next_task_].arrival <= time) {
    add_blocks(workload_.tasks[next_task_].arrival);
    add_task(next_task_++);
  }
  add_blocks(time);
}

void Simulation::add_task(std::size_t number) {
  const SimulatedTask& task = workload_.tasks[number];
  std::vector<std::size_t> there;
  for (std::size_t j = 0; j < blocks_.size(); ++j) {
    ages_[j].time = task.arrival - block_arrivals_[j];
    if (!is_retired(j)) there.push_back(j);
  }
  if (task.blocks > there.size()) {
    ++result_.refused;
    return;
  }
  Waiting waiting{.task = number, .claim = {{}, task.weight}};
  for (const std::size_t place :
       choose_blocks(workload_.choice, task.blocks, there.size(), draws_)) {
    const std::size_t block = there[place];
    waiting.claim.demands.push_back({block, task.demand});
    ++ages_[block].claims;
  }
  waiting.is_fair = is_fair_share(waiting.claim, blocks_, rules_.fair_shares);
  result_.fair += waiting.is_fair ? 1 : 0;
  waiting_.push_back(std::move(waiting));
}

void Simulation::unlock(double time) {
  for (std::size_t j = 0; j < blocks_.size(); ++j) {
    ages_[j].time = time - block_arrivals_[j];
    blocks_[j].unlocked = unlocking_.share(ages_[j]) * capacity_;
  }
}

void Simulation::leave(double time) {
  if (rules_.patience == 0) return;
  result_.left += std::erase_if(waiting_, [&](const Waiting& waiting) {
    return time - workload_.tasks[waiting.task].arrival > rules_.patience;
  });
}

bool Simulation::is_retired(std::size_t block) const {
  return (rules_.lifetime > 0 && ages_[block].time >= rules_.lifetime) ||
         (rules_.grants > 0 && block_grants_[block] >= rules_.grants);
}

bool Simulation::asks_of_retired(const BudgetClaim& claim) const {
  return std::ranges::any_of(claim.demands, [&](const BudgetDemand& demand) {
    return is_retired(demand.block);
  });
}

void Simulation::retire() {
  if (rules_.lifetime == 0 && rules_.grants == 0) return;
  result_.expired += std::erase_if(waiting_, [&](const Waiting& waiting) {
    return asks_of_retired(waiting.claim);
  });
}

void Simulation::schedule(double time) {
  BudgetProblem problem{blocks_, {}};
  for (const Waiting& waiting : waiting_)
    problem.claims.push_back(waiting.claim);
  const Stopwatch watch;
  const std::vector<std::size_t> granted =
      privacy::schedule(scheduler_, problem);
  result_.seconds += watch.seconds();
  std::vector<bool> is_granted(waiting_.size());
  for (const std::size_t i : granted) {
    // The one before may have been the last that its blocks give something.
    if (asks_of_retired(waiting_[i].claim)) continue;
    is_granted[i] = true;
    for (const auto& [block, curve] : waiting_[i].claim.demands) {
      BudgetBlock& of = blocks_[block];
      WEFT_CHECK(
          fits(curve.values(), of.consumed.values(), of.unlocked.values()),
          "{} overspends", scheduler_.def->name);
      of.consumed += curve;
      ++block_grants_[block];
    }
    const SimulatedTask& task = workload_.tasks[waiting_[i].task];
    result_.grants.push_back({waiting_[i].task, time});
    result_.weight += task.weight;
    result_.mean_delay += time - task.arrival;
    result_.fair_granted += waiting_[i].is_fair ? 1 : 0;
  }
  std::size_t next = 0;
  std::erase_if(waiting_, [&](const Waiting&) { return is_granted[next++]; });
}

void Simulation::sum_up() {
  if (!result_.grants.empty())
    result_.mean_delay /= static_cast<double>(result_.grants.size());
  for (const BudgetBlock& block : blocks_)
    result_.epsilon =
        std::max(result_.epsilon,
                 epsilon_of(block.consumed, workload_.budget.delta).value);
}

SimulationResult Simulation::run() {
  const double last = end();
  for (std::int64_t round = 0;; ++round) {
    const double time =
        std::min(static_cast<double>(round) * workload_.every, last);
    arrive(time);
    unlock(time);
    leave(time);
    retire();
    schedule(time);
    retire();
    if (time >= last) break;
  }
  sum_up();
  return std::move(result_);
}

BudgetProblem Simulation::all_that_is_asked() {
  arrive(end());
  BudgetProblem problem{blocks_, {}};
  for (BudgetBlock& block : problem.blocks) block.unlocked = capacity_;
  for (Waiting& waiting : waiting_) {
    problem.claims.push_back(std::move(waiting.claim));
  }
  return problem;
}

}  // namespace

BudgetProblem all_that_is_asked(const Workload& workload,
                                const SimulationRules& rules) {
  if (rules.grants > 0) {
    throw Error(ErrorCode::kInvalidArgument, "budget simulation",
                "where blocks retire after {} grants, what is asked of depends "
                "on who is granted, and has no bound",
                rules.grants);
  }
  // Nobody is asked.
  const Scheduler scheduler;
  return Simulation(workload, scheduler, rules).all_that_is_asked();
}

SimulationResult simulate(const Workload& workload, const Scheduler& scheduler,
                          const SimulationRules& rules) {
  return Simulation(workload, scheduler, rules).run();
}

}  // namespace weft::privacy
