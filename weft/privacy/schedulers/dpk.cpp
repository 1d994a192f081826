// The privacy knapsack (Tholoniat et al., "DPack: efficiency-oriented privacy
// budget scheduling", EuroSys 2025): as much weight as fits. As a block needs
// one order only, it is packed by the order at which most would fit, and a
// claim is worth its weight over what it takes of its blocks at these orders.
#include <algorithm>
#include <limits>
#include <numeric>

#include "weft/privacy/budget_state.h"
#include "weft/privacy/knapsack.h"
#include "weft/privacy/scheduler.h"

namespace weft {
namespace {

using privacy::BudgetState;

constexpr double kInfiniteCost = std::numeric_limits<double>::infinity();

struct PackingRules {
  std::int64_t recompute;
  bool all_ties;
  enum { kByAvailable, kByCapacity, kByNothing } normalize;
  double loss;  // of a block's knapsack; 0: greedy
  double fair_shares;
};

PackingRules rules_of(const Options& options) {
  const auto& normalize = option<std::string>(options, "normalize");
  return {.recompute = option<std::int64_t>(options, "recompute"),
          .all_ties = option<std::string>(options, "ties") == "all",
          .normalize = normalize == "available"  ? PackingRules::kByAvailable
                       : normalize == "capacity" ? PackingRules::kByCapacity
                                                 : PackingRules::kByNothing,
          .loss = option<double>(options, "loss"),
          .fair_shares = option<double>(options, "fair_shares")};
}

class Packing {
 public:
  Packing(const PackingRules& rules, const privacy::BudgetProblem& problem);

  std::vector<std::size_t> run();

 private:
  // What a claim asks of one block at one order.
  struct SizedClaim {
    double size_by_weight;
    double size;
    std::size_t claim;

    auto operator<=>(const SizedClaim&) const = default;
  };

  void sort_demands();
  // A block at one order; nothing fits where nothing may be.
  privacy::Knapsack knapsack(std::size_t block, std::size_t order) const {
    return {state_.consumed(block, order), state_.unlocked(block, order) > 0
                                               ? state_.unlocked(block, order)
                                               : -kInfiniteCost};
  }
  // The weight that fits into it.
  double packed(std::size_t block, std::size_t order);
  void find_best_orders(std::size_t block);
  double cost_of(std::size_t demand) const;
  // Brings best orders and efficiencies up to date with what was granted.
  void refresh();
  void grant(std::size_t claim);
  void change(std::size_t block);
  // Whether a claim goes after another.
  bool is_behind(std::size_t a, std::size_t b) const;

  PackingRules rules_;
  const privacy::BudgetProblem& problem_;
  BudgetState state_;
  bool has_one_weight_ = true;
  std::vector<std::size_t> claim_of_;              // of each demand
  std::vector<std::vector<std::size_t>> demands_;  // of each block
  std::vector<std::vector<SizedClaim>> by_order_;  // [block, order], sorted
  std::vector<std::vector<std::size_t>> best_;     // orders of each block
  std::vector<double> cost_;                       // of each demand
  std::vector<double> efficiency_;                 // of each claim
  std::vector<bool> is_fair_;
  std::vector<bool> is_pending_;    // not granted
  std::vector<bool> is_candidate_;  // and may be
  std::vector<bool> is_changed_;    // of each block, since the last refresh()
  std::vector<std::size_t> changed_;
  std::vector<bool> is_stale_;  // of each claim, within refresh()
  std::vector<std::size_t> stale_;
  std::vector<privacy::KnapsackItem> items_;
};

Packing::Packing(const PackingRules& rules,
                 const privacy::BudgetProblem& problem)
    : rules_(rules),
      problem_(problem),
      state_(problem),
      demands_(state_.blocks()),
      best_(state_.blocks()),
      efficiency_(state_.claims()),
      is_fair_(state_.claims()),
      is_pending_(state_.claims(), true),
      is_candidate_(state_.claims()),
      is_changed_(state_.blocks()),
      is_stale_(state_.claims()) {
  for (std::size_t block = 0; block < state_.blocks(); ++block) change(block);
  for (std::size_t claim = 0; claim < state_.claims(); ++claim) {
    const auto& asked = problem.claims[claim];
    has_one_weight_ &= asked.weight == problem.claims[0].weight;
    is_fair_[claim] = rules.fair_shares > 0 &&
                      is_fair_share(asked, problem.blocks, rules.fair_shares);
    for (std::size_t d = state_.first(claim); d < state_.first(claim + 1);
         ++d) {
      claim_of_.push_back(claim);
      if (state_.block_of(d) < state_.blocks())
        demands_[state_.block_of(d)].push_back(d);
    }
    // Without a demand that costs something it stays so.
    efficiency_[claim] = kInfiniteCost;
  }
  cost_.resize(claim_of_.size(), kInfiniteCost);
  sort_demands();
}

void Packing::sort_demands() {
  by_order_.resize(state_.blocks() * state_.orders());
  for (std::size_t block = 0; block < state_.blocks(); ++block) {
    for (std::size_t a = 0; a < state_.orders(); ++a) {
      // Nothing fits at an order that is used up, and it stays so.
      const privacy::Knapsack room = knapsack(block, a);
      auto& sorted = by_order_[block * state_.orders() + a];
      for (const std::size_t d : demands_[block]) {
        const double size = state_.demand(d)[a];
        if (!room.has_room(size)) continue;
        const std::size_t claim = claim_of_[d];
        sorted.push_back({size / problem_.claims[claim].weight, size, claim});
      }
      std::sort(sorted.begin(), sorted.end());
    }
  }
}

double Packing::packed(std::size_t block, std::size_t order) {
  const privacy::Knapsack room = knapsack(block, order);
  auto& sorted = by_order_[block * state_.orders() + order];
  const auto is_granted = [&](const SizedClaim& sized) {
    return !is_pending_[sized.claim];
  };
  if (has_one_weight_) {
    // The smallest are the most: what is behind them is not looked at.
    privacy::Knapsack filled = room;
    std::size_t count = 0;
    auto next = sorted.begin();
    for (; next != sorted.end(); ++next) {
      if (is_granted(*next)) continue;
      if (!filled.has_room(next->size)) break;
      filled.used += next->size;
      sorted[count++] = *next;
    }
    sorted.erase(sorted.begin() + static_cast<std::ptrdiff_t>(count), next);
    return static_cast<double>(count);
  }
  std::erase_if(sorted, is_granted);
  items_.clear();
  for (const SizedClaim& sized : sorted)
    items_.push_back({sized.size, problem_.claims[sized.claim].weight});
  return rules_.loss > 0 ? nearly_optimal_value(items_, room, rules_.loss)
                         : greedy_value(items_, room);
}

void Packing::find_best_orders(std::size_t block) {
  std::vector<std::size_t>& best = best_[block];
  best.clear();
  double most = 0;
  for (std::size_t a = 0; a < state_.orders(); ++a) {
    const double value = packed(block, a);
    if (value > most) best.clear();
    if (value > most || (value == most && value > 0 && rules_.all_ties))
      best.push_back(a);
    most = std::max(most, value);
  }
}

double Packing::cost_of(std::size_t demand) const {
  const std::size_t block = state_.block_of(demand);
  const auto asked = state_.demand(demand);
  double cost = 0;
  for (const std::size_t a : best_[block]) {
    switch (rules_.normalize) {
      case PackingRules::kByAvailable:
        // Rounding may leave nothing where the last one fits.
        cost += state_.available(block, a) > 0
                    ? asked[a] / state_.available(block, a)
                    : kInfiniteCost;
        break;
      case PackingRules::kByCapacity:
        cost += asked[a] / state_.capacity(block)[a];
        break;
      case PackingRules::kByNothing:
        cost += asked[a];
        break;
    }
  }
  // Where nothing fits, nothing is all that can be had.
  const bool is_nothing = std::all_of(asked.begin(), asked.end(),
                                      [](double size) { return size == 0; });
  return best_[block].empty() && !is_nothing ? kInfiniteCost : cost;
}

void Packing::refresh() {
  for (const std::size_t block : changed_) {
    is_changed_[block] = false;
    find_best_orders(block);
    std::erase_if(demands_[block],
                  [&](std::size_t d) { return !is_candidate_[claim_of_[d]]; });
    for (const std::size_t d : demands_[block]) {
      const std::size_t claim = claim_of_[d];
      // What does not fit now never will: less is left with each grant.
      if (!state_.fits(d)) is_candidate_[claim] = false;
      if (!is_candidate_[claim]) continue;
      cost_[d] = cost_of(d);
      if (!is_stale_[claim]) stale_.push_back(claim);
      is_stale_[claim] = true;
    }
  }
  changed_.clear();
  for (const std::size_t claim : stale_) {
    is_stale_[claim] = false;
    const double cost = std::accumulate(
        cost_.begin() + static_cast<std::ptrdiff_t>(state_.first(claim)),
        cost_.begin() + static_cast<std::ptrdiff_t>(state_.first(claim + 1)),
        0.0);
    // Nothing over nothing is not a number.
    efficiency_[claim] =
        cost == 0 ? kInfiniteCost : problem_.claims[claim].weight / cost;
  }
  stale_.clear();
}

void Packing::change(std::size_t block) {
  if (!is_changed_[block]) changed_.push_back(block);
  is_changed_[block] = true;
}

bool Packing::is_behind(std::size_t a, std::size_t b) const {
  if (is_fair_[a] != is_fair_[b]) return is_fair_[b];
  if (efficiency_[a] != efficiency_[b]) return efficiency_[a] < efficiency_[b];
  return a > b;
}

std::vector<std::size_t> Packing::run() {
  std::vector<std::size_t> granted;
  std::vector<std::size_t> heap;
  for (std::size_t claim = 0; claim < state_.claims(); ++claim) {
    is_candidate_[claim] = state_.can_grant(claim);
    if (is_candidate_[claim]) heap.push_back(claim);
  }
  const auto behind = [&](std::size_t a, std::size_t b) {
    return is_behind(a, b);
  };
  while (!heap.empty()) {
    refresh();
    std::erase_if(heap,
                  [&](std::size_t claim) { return !is_candidate_[claim]; });
    std::make_heap(heap.begin(), heap.end(), behind);
    for (std::int64_t grants = 0; grants < rules_.recompute && !heap.empty();) {
      std::pop_heap(heap.begin(), heap.end(), behind);
      const std::size_t claim = heap.back();
      heap.pop_back();
      if (!state_.can_grant(claim)) continue;
      grant(claim);
      granted.push_back(claim);
      ++grants;
    }
  }
  return granted;
}

void Packing::grant(std::size_t claim) {
  state_.grant(claim);
  is_pending_[claim] = false;
  is_candidate_[claim] = false;
  for (std::size_t d = state_.first(claim); d < state_.first(claim + 1); ++d)
    change(state_.block_of(d));
}

}  // namespace

void register_budget_scheduler_dpk(privacy::SchedulerRegistry& schedulers) {
  schedulers.add(
      {.name = "dpk",
       .summary = "as much weight as fits: the privacy knapsack",
       .options =
           {{"recompute",
             std::int64_t{1},
             "after which orders and efficiencies are found anew",
             {.least = 1},
             {},
             "grants"},
            {"ties",
             std::string("all"),
             "of orders at which as much fits, which count",
             {},
             {"all", "lowest"}},
            {"normalize",
             std::string("available"),
             "what a demand is divided by",
             {},
             {"available", "capacity", "none"}},
            {"loss",
             0.0,
             "of a block's knapsack with several weights; 0: greedy, up to "
             "half",
             {.least = 0, .most = 0.5},
             {},
             "share"},
            {"fair_shares",
             0.0,
             "claims of at most one of so many shares of a block go first; 0: "
             "none",
             {.least = 0}}},
       .schedule = [](const Options& options,
                      const privacy::BudgetProblem& problem) {
         return Packing(rules_of(options), problem).run();
       }});
}

}  // namespace weft
