// Dominant private-block fairness (Luo et al., "Privacy budget scheduling",
// OSDI 2021): the smallest dominant share goes first, which is a claim's
// largest share of any block's capacity at any order. Shares are compared from
// the largest down, so that equal ones are told apart by the next.
#include <algorithm>
#include <functional>
#include <numeric>

#include "weft/privacy/budget_state.h"
#include "weft/privacy/scheduler.h"

namespace weft {
namespace {

using privacy::BudgetState;

// Descending. Orders without capacity are used by nobody.
std::vector<double> shares_of(const BudgetState& state, std::size_t claim) {
  std::vector<double> shares;
  for (std::size_t d = state.first(claim); d < state.first(claim + 1); ++d) {
    if (state.block_of(d) >= state.blocks()) continue;
    const auto capacity = state.capacity(state.block_of(d));
    const auto demand = state.demand(d);
    for (std::size_t a = 0; a < state.orders(); ++a)
      if (capacity[a] > 0) shares.push_back(demand[a] / capacity[a]);
  }
  std::sort(shares.begin(), shares.end(), std::greater<>());
  return shares;
}

std::vector<std::size_t> schedule_by_dominant_share(
    const Options&, const privacy::BudgetProblem& problem) {
  BudgetState state(problem);
  std::vector<std::vector<double>> shares;
  for (std::size_t claim = 0; claim < state.claims(); ++claim)
    shares.push_back(shares_of(state, claim));
  std::vector<std::size_t> order(state.claims());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(
      order.begin(), order.end(),
      [&](std::size_t a, std::size_t b) { return shares[a] < shares[b]; });
  return grant_in_order(state, order);
}

}  // namespace

void register_budget_scheduler_dpf(privacy::SchedulerRegistry& schedulers) {
  schedulers.add({.name = "dpf",
                  .summary = "the smallest dominant share first: max-min fair",
                  .schedule = schedule_by_dominant_share});
}

}  // namespace weft
