#include "weft/privacy/budget_state.h"

namespace weft::privacy {

BudgetState::BudgetState(const BudgetProblem& problem) {
  const auto append = [](std::vector<double>& rows, const RenyiCurve& curve) {
    rows.insert(rows.end(), curve.values().begin(), curve.values().end());
  };
  if (!problem.blocks.empty()) orders_ = problem.blocks[0].capacity.size();
  for (const BudgetBlock& block : problem.blocks) {
    append(capacity_, block.capacity);
    append(unlocked_, block.unlocked);
    append(consumed_, block.consumed);
  }
  first_.push_back(0);
  for (const BudgetClaim& claim : problem.claims) {
    for (const auto& [block, curve] : claim.demands) {
      block_of_.push_back(block);
      append(demands_, curve);
    }
    first_.push_back(block_of_.size());
  }
}

bool BudgetState::can_grant(std::size_t claim) const {
  for (std::size_t d = first_[claim]; d < first_[claim + 1]; ++d) {
    if (block_of_[d] >= blocks()) return false;
    if (!fits(d)) return false;
  }
  return true;
}

void BudgetState::grant(std::size_t claim) {
  for (std::size_t d = first_[claim]; d < first_[claim + 1]; ++d) {
    double* consumed = consumed_.data() + block_of_[d] * orders_;
    const auto asked = demand(d);
    for (std::size_t a = 0; a < orders_; ++a) consumed[a] += asked[a];
  }
}

std::vector<std::size_t> grant_in_order(BudgetState& state,
                                        std::span<const std::size_t> claims) {
  std::vector<std::size_t> granted;
  for (const std::size_t claim : claims) {
    if (!state.can_grant(claim)) continue;
    state.grant(claim);
    granted.push_back(claim);
  }
  return granted;
}

}  // namespace weft::privacy
