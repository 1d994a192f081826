// An aggregation rule with all its memory, for gradients that are one bucket in
// one place: what rule_run.h does over a network.
//
// Threads: caller synchronises.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "weft/train/sync/aggregation_rule.h"

namespace weft {

class LoneRule {
 public:
  // `rule` is not null; gradients have `size` values.
  LoneRule(std::unique_ptr<AggregationRule> rule, std::size_t size);

  // The next step: writes what stands for the sum of those that arrived.
  // `parameters` are what the gradients are of.
  void combine(std::span<const Contribution> arrived,
               std::span<const float> parameters, std::span<float> result);

  const AggregationRule& rule() const { return *rule_; }
  const std::vector<Tensor>& slots() const { return slots_; }
  const std::vector<Tensor>& shared_slots() const { return shared_slots_; }
  // Goes on where another of the same rule is.
  void restore(const LoneRule& other);

 private:
  std::unique_ptr<AggregationRule> rule_;
  std::vector<Tensor> slots_;
  std::vector<Tensor> shared_slots_;
  std::int64_t steps_ = 0;
};

}  // namespace weft
