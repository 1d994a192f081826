#include "weft/train/sync/lone_rule.h"

#include <algorithm>

namespace weft {

LoneRule::LoneRule(std::unique_ptr<AggregationRule> rule, std::size_t size)
    : rule_(std::move(rule)) {
  for (const RuleSlot& slot : rule_->slots()) {
    slots_.push_back(Tensor::zeros({slot.dtype, {static_cast<Dim>(size)}}));
  }
  for (const RuleSlot& slot : rule_->shared_slots()) {
    shared_slots_.push_back(Tensor::zeros({slot.dtype, {slot.size}}));
  }
}

void LoneRule::combine(std::span<const Contribution> arrived,
                       std::span<const float> parameters,
                       std::span<float> result) {
  const RulePart part{
      .arrived = arrived, .parameters = parameters, .slots = slots_};
  std::vector<double> numbers(rule_->measures());
  if (!numbers.empty()) {
    do {
      std::ranges::fill(numbers, 0.0);
      rule_->measure(part, numbers);
    } while (!rule_->decide(
        {.number = steps_, .sums = numbers, .slots = shared_slots_}));
  }
  rule_->combine(part, result);
  ++steps_;
}

void LoneRule::restore(const LoneRule& other) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].copy_from(other.slots_[i]);
  }
  for (std::size_t i = 0; i < shared_slots_.size(); ++i) {
    shared_slots_[i].copy_from(other.shared_slots_[i]);
  }
  steps_ = other.steps_;
  rule_->restored(shared_slots_);
}

}  // namespace weft
