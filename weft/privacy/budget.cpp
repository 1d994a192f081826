#include "weft/privacy/budget.h"

#include <algorithm>
#include <cmath>

#include "weft/base/error.h"

namespace weft::privacy {
namespace {

void check_claim(const BudgetClaim& claim, std::size_t number,
                 const RenyiOrders& orders) {
  const auto fail = [&](std::string what) {
    return Error(ErrorCode::kInvalidArgument, "privacy claim", "claim {}: {}",
                 number, what);
  };
  if (!(claim.weight > 0) || !std::isfinite(claim.weight))
    throw fail(fmt::format("a weight of {} is not a finite number above 0",
                           claim.weight));
  std::vector<std::size_t> blocks;
  for (const auto& [block, curve] : claim.demands) {
    if (!(curve.orders() == orders))
      throw fail("its demands are at other orders than the blocks");
    for (std::size_t a = 0; a < curve.size(); ++a) {
      if (curve[a] < 0)
        throw fail(fmt::format("it demands {} of block {} at order {}",
                               curve[a], block, orders[a]));
    }
    blocks.push_back(block);
  }
  std::sort(blocks.begin(), blocks.end());
  const auto twice = std::adjacent_find(blocks.begin(), blocks.end());
  if (twice != blocks.end())
    throw fail(fmt::format("it asks of block {} twice", *twice))
        .hint("add its demands up");
}

}  // namespace

void check(const BudgetProblem& problem) {
  if (problem.blocks.empty()) return;
  const RenyiOrders& orders = problem.blocks[0].capacity.orders();
  for (const BudgetBlock& block : problem.blocks) {
    for (const RenyiCurve* curve :
         {&block.capacity, &block.unlocked, &block.consumed}) {
      if (!(curve->orders() == orders))
        throw Error(ErrorCode::kInvalidArgument, "privacy blocks",
                    "they have budgets at different orders");
    }
  }
  for (std::size_t i = 0; i < problem.claims.size(); ++i)
    check_claim(problem.claims[i], i, orders);
}

bool is_fair_share(const BudgetClaim& claim,
                   const std::vector<BudgetBlock>& blocks, double shares) {
  for (const auto& [block, curve] : claim.demands) {
    if (block >= blocks.size()) return false;
    const RenyiCurve& capacity = blocks[block].capacity;
    for (std::size_t a = 0; a < curve.size(); ++a)
      if (capacity[a] > 0 && curve[a] * shares > capacity[a]) return false;
  }
  return true;
}

}  // namespace weft::privacy
