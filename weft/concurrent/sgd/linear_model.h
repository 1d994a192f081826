// A linear model of sparse examples:
//
//   F(x) = mean over rows of loss(target, row . x) + l2 / 2 |x|^2
//
// The second part is spread over the rows so that a row's gradient reaches its
// own entries alone: entry j counts by how seldom rows have it (Niu, Recht, Re,
// Wright, "Hogwild!", NeurIPS 2011, section 2). Entries that no row has stay 0
// from a start of 0.
//
// Each pass takes the rows in an order of its own, computed and not stored.
//
// Threads: immutable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/permutation.h"
#include "weft/concurrent/sgd/problem.h"
#include "weft/concurrent/sgd/sparse_rows.h"

namespace weft::concurrent {

enum class LinearLoss : std::uint8_t {
  kLogistic,  // log(1 + exp(-target y)), targets -1 and 1
  kHinge,     // max(0, 1 - target y), targets -1 and 1
  kSquared,   // (y - target)^2 / 2
};

// "logistic", "hinge", "squared".
const std::vector<std::string>& linear_loss_names();
// Throws Error(kInvalidArgument) for a name that is none.
LinearLoss linear_loss(std::string_view name);

struct LinearModelOptions {
  LinearLoss loss = LinearLoss::kLogistic;
  double l2 = 0;
  std::uint64_t seed = 1;    // of the orders
  std::uint32_t passes = 1;  // with an order of their own; later ones repeat
};

template <class Number>
class LinearModel final : public SgdProblem<Number> {
 public:
  // `rows` must outlive this. Throws Error(kInvalidArgument) for no rows, an
  // empty row, options that cannot be, and targets that the loss has not.
  LinearModel(const SparseRows& rows, const LinearModelOptions& options);

  std::uint32_t dimensions() const override { return rows_.width; }
  std::uint64_t sample(std::uint64_t iteration) const override;
  std::span<const std::uint32_t> support(std::uint64_t sample) const override {
    return rows_.columns_of(sample);
  }
  void gradient(std::uint64_t sample, std::span<const Number> view,
                std::span<Number> result) const override;
  void prefetch(std::uint64_t sample) const override;
  double loss(std::span<const Number> x) const override;

 private:
  const SparseRows& rows_;
  LinearModelOptions options_;
  std::vector<Permutation> orders_;                 // by pass
  std::vector<std::vector<std::uint32_t>> tables_;  // of these
  std::vector<Number> l2_;  // by column, over the share of rows that have it
};

extern template class LinearModel<float>;
extern template class LinearModel<double>;

}  // namespace weft::concurrent
