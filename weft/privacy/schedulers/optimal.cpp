// The most weight that is possible, as an integer program (Tholoniat et al.,
// EuroSys 2025, section 3): x_i is 1 where claim i is granted, a_jα where block
// j keeps its budget at order α, which at least one must do.
//
//   max Σ w_i x_i,   Σ_α a_jα >= 1,   Σ_i d_ijα x_i + U_jα a_jα <= c_jα + U_jα
//
// with U = Σ_i d. It is for some hundred claims on some blocks.
#include <algorithm>
#include <cmath>

#include "weft/base/libraries/integer_program.h"
#include "weft/privacy/budget_state.h"
#include "weft/privacy/scheduler.h"

namespace weft {
namespace {

using privacy::BudgetState;

// In terms of what is available; more than all of it is as good as this, and
// leaves the solver numbers of one size.
constexpr double kMoreThanAll = 2;

bool is_nothing(std::span<const double> demand) {
  return std::all_of(demand.begin(), demand.end(),
                     [](double size) { return size == 0; });
}

IntegerProgram program_of(const privacy::BudgetProblem& problem,
                          const BudgetState& state) {
  IntegerProgram program;
  std::vector<std::vector<std::size_t>> demands(state.blocks());
  std::vector<std::int32_t> column_of;  // of each demand
  for (std::size_t claim = 0; claim < state.claims(); ++claim) {
    const auto column = static_cast<std::int32_t>(program.columns.size());
    program.columns.push_back({.value = problem.claims[claim].weight,
                               .upper = state.can_grant(claim) ? 1.0 : 0.0});
    for (std::size_t d = state.first(claim); d < state.first(claim + 1); ++d) {
      column_of.push_back(column);
      if (state.can_grant(claim) && !is_nothing(state.demand(d)))
        demands[state.block_of(d)].push_back(d);
    }
  }
  for (std::size_t block = 0; block < state.blocks(); ++block) {
    if (demands[block].empty()) continue;
    IntegerProgram::Row one_order{.entries = {},
                                  .lower = 1,
                                  .upper = static_cast<double>(state.orders())};
    for (std::size_t a = 0; a < state.orders(); ++a) {
      const double room = state.available(block, a);
      if (room <= 0) continue;
      const auto choice = static_cast<std::int32_t>(program.columns.size());
      program.columns.push_back({});
      one_order.entries.push_back({choice, 1});
      IntegerProgram::Row row;
      double all = 0;
      for (const std::size_t d : demands[block]) {
        const double size = state.demand(d)[a];
        if (size == 0) continue;
        const double share = std::min(size / room, kMoreThanAll);
        row.entries.push_back({column_of[d], share});
        all += share;
      }
      row.entries.push_back({choice, all});
      row.upper = 1 + all;
      program.rows.push_back(std::move(row));
    }
    program.rows.push_back(std::move(one_order));
  }
  return program;
}

std::vector<std::size_t> schedule_optimally(
    const Options& options, const privacy::BudgetProblem& problem) {
  BudgetState state(problem);
  const auto seconds = option<double>(options, "seconds");
  const IntegerSolution found =
      solve(program_of(problem, state),
            {.seconds = seconds, .gap = option<double>(options, "gap")});
  if (!found.is_optimal) {
    throw Error(ErrorCode::kExhausted, "optimal",
                "in {} s it found a weight of {:.6g}, and none above {:.6g} is "
                "possible",
                seconds, found.value, found.bound)
        .hint("raise `seconds` or `gap`, or let dpk schedule");
  }
  std::vector<std::size_t> order;
  for (std::size_t claim = 0; claim < state.claims(); ++claim)
    if (found.x[claim] > 0.5) order.push_back(claim);
  // The solver takes a millionth too much for enough; nobody else does.
  return grant_in_order(state, order);
}

}  // namespace

void register_budget_scheduler_optimal(privacy::SchedulerRegistry& schedulers) {
  schedulers.add({.name = "optimal",
                  .summary = "the most weight that is possible, by HiGHS",
                  .options = {{"seconds",
                               60.0,
                               "after which it gives up",
                               {.least = 0, .is_open_below = true},
                               {},
                               "seconds"},
                              {"gap",
                               0.0,
                               "to what is possible, that is good enough",
                               {.least = 0, .most = 1},
                               {},
                               "share"}},
                  .schedule = schedule_optimally});
}

}  // namespace weft
