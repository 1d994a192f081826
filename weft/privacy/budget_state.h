// A problem of budgets as flat arrays, while claims are granted.
//
// Threads: caller synchronises.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "weft/privacy/budget.h"

namespace weft::privacy {

class BudgetState {
 public:
  explicit BudgetState(const BudgetProblem& problem);

  std::size_t orders() const { return orders_; }
  std::size_t blocks() const { return unlocked_.size() / orders_; }
  std::size_t claims() const { return first_.size() - 1; }
  std::span<const double> capacity(std::size_t block) const {
    return row(capacity_, block);
  }
  // At an order.
  double unlocked(std::size_t block, std::size_t order) const {
    return unlocked_[block * orders_ + order];
  }
  double consumed(std::size_t block, std::size_t order) const {
    return consumed_[block * orders_ + order];
  }
  // What is left; may be negative.
  double available(std::size_t block, std::size_t order) const {
    return unlocked(block, order) - consumed(block, order);
  }

  // A claim's demands are first(claim) .. first(claim + 1) - 1.
  std::size_t first(std::size_t claim) const { return first_[claim]; }
  std::size_t block_of(std::size_t demand) const { return block_of_[demand]; }
  std::span<const double> demand(std::size_t demand) const {
    return row(demands_, demand);
  }

  // Whether the block of a demand, which must be there, has enough at one
  // order.
  bool fits(std::size_t demand) const {
    return privacy::fits(this->demand(demand), row(consumed_, block_of(demand)),
                         row(unlocked_, block_of(demand)));
  }
  // Whether all blocks that the claim asks of are there and have enough.
  bool can_grant(std::size_t claim) const;
  void grant(std::size_t claim);

 private:
  std::span<const double> row(const std::vector<double>& rows,
                              std::size_t i) const {
    return {rows.data() + i * orders_, orders_};
  }

  std::size_t orders_ = 1;
  std::vector<double> capacity_;  // [block, order]
  std::vector<double> unlocked_;  // [block, order]
  std::vector<double> consumed_;  // [block, order]
  std::vector<std::size_t> first_;
  std::vector<std::size_t> block_of_;
  std::vector<double> demands_;  // [demand, order]
};

// Grants what still fits, in this order.
std::vector<std::size_t> grant_in_order(BudgetState& state,
                                        std::span<const std::size_t> claims);

}  // namespace weft::privacy
