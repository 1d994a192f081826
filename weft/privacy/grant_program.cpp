#include "weft/privacy/grant_program.h"

#include <algorithm>
#include <cmath>

namespace weft::privacy {
namespace {

// In terms of what is available; more than all of it is as good as this, and
// leaves the solver numbers of one size.
constexpr double kMoreThanAll = 2;

// What a claim that can be granted asks of a block.
struct Part {
  std::int32_t column = 0;
  std::vector<double> shares;  // of what is available, at each usable order
};

bool is_nothing(std::span<const double> demand) {
  return std::all_of(demand.begin(), demand.end(),
                     [](double size) { return size == 0; });
}

// The columns x_i, and by block what is asked of it.
IntegerProgram claims_of(const BudgetProblem& problem, const BudgetState& state,
                         std::vector<std::vector<Part>>& asked) {
  IntegerProgram program;
  asked.resize(state.blocks());
  for (std::size_t claim = 0; claim < state.claims(); ++claim) {
    const bool can = state.can_grant(claim);
    const auto column = static_cast<std::int32_t>(program.columns.size());
    program.columns.push_back(
        {.value = problem.claims[claim].weight, .upper = can ? 1.0 : 0.0});
    if (!can) continue;
    for (std::size_t d = state.first(claim); d < state.first(claim + 1); ++d) {
      if (is_nothing(state.demand(d))) continue;
      const std::size_t block = state.block_of(d);
      Part part{.column = column, .shares = {}};
      for (std::size_t a = 0; a < state.orders(); ++a) {
        const double room = state.available(block, a);
        if (room <= 0) continue;
        part.shares.push_back(
            std::min(state.demand(d)[a] / room, kMoreThanAll));
      }
      asked[block].push_back(std::move(part));
    }
  }
  return program;
}

// Whether every claim takes as little at order `a` as at `b`, or less.
bool is_no_worse(const std::vector<Part>& parts, std::size_t a, std::size_t b) {
  return std::ranges::all_of(parts, [&](const Part& part) {
    return part.shares[a] <= part.shares[b];
  });
}

// Leaves out those that are no better than another; of equal ones the first
// stays.
std::vector<std::size_t> orders_that_matter(const std::vector<Part>& parts) {
  const std::size_t orders = parts.front().shares.size();
  std::vector<std::size_t> kept;
  for (std::size_t b = 0; b < orders; ++b) {
    bool matters = true;
    for (std::size_t a = 0; a < orders && matters; ++a) {
      if (a == b || !is_no_worse(parts, a, b)) continue;
      matters = b < a && is_no_worse(parts, b, a);
    }
    if (matters) kept.push_back(b);
  }
  return kept;
}

// Σ_i share of part i times x_i <= 1.
template <class Share>
IntegerProgram::Row row_of(const std::vector<Part>& parts, const Share& share) {
  IntegerProgram::Row row{.entries = {}, .lower = 0, .upper = 1};
  for (const Part& part : parts) {
    const double size = share(part);
    if (size > 0) row.entries.push_back({part.column, size});
  }
  return row;
}

IntegerProgram::Row least_row(const std::vector<Part>& parts) {
  return row_of(parts,
                [](const Part& part) { return std::ranges::min(part.shares); });
}

// The rows of a block that keeps its budget at one of these orders.
void add_choice(const std::vector<Part>& parts,
                const std::vector<std::size_t>& orders,
                IntegerProgram& program) {
  IntegerProgram::Row one_order{
      .entries = {}, .lower = 1, .upper = static_cast<double>(orders.size())};
  for (const std::size_t a : orders) {
    const auto choice = static_cast<std::int32_t>(program.columns.size());
    program.columns.push_back({});
    one_order.entries.push_back({choice, 1});
    IntegerProgram::Row row =
        row_of(parts, [&](const Part& part) { return part.shares[a]; });
    double all = 0;
    for (const auto& entry : row.entries) all += entry.coefficient;
    row.entries.push_back({choice, all});
    row.upper = 1 + all;
    program.rows.push_back(std::move(row));
  }
  program.rows.push_back(std::move(one_order));
  program.rows.push_back(least_row(parts));
}

}  // namespace

IntegerProgram grant_program(const BudgetProblem& problem,
                             const BudgetState& state) {
  std::vector<std::vector<Part>> asked;
  IntegerProgram program = claims_of(problem, state, asked);
  for (const std::vector<Part>& parts : asked) {
    if (parts.empty()) continue;
    const std::vector<std::size_t> orders = orders_that_matter(parts);
    if (orders.size() == 1) {
      program.rows.push_back(row_of(
          parts, [&](const Part& part) { return part.shares[orders[0]]; }));
    } else {
      add_choice(parts, orders, program);
    }
  }
  return program;
}

IntegerProgram grant_relaxation(const BudgetProblem& problem,
                                const BudgetState& state) {
  std::vector<std::vector<Part>> asked;
  IntegerProgram program = claims_of(problem, state, asked);
  for (const std::vector<Part>& parts : asked) {
    if (!parts.empty()) program.rows.push_back(least_row(parts));
  }
  return program;
}

double most_grantable(const BudgetProblem& problem, double seconds) {
  const BudgetState state(problem);
  return solve(grant_relaxation(problem, state), {.seconds = seconds}).bound;
}

}  // namespace weft::privacy
