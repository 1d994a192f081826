// Steps of an aggregation rule by its text, on gradients rather than
// contributions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/train/sync/lone_rule.h"

namespace weft::test {

class RuleSteps {
 public:
  // `text` as a recipe has it; the mean is no rule, and adds.
  RuleSteps(const std::string& text, int workers, std::size_t size,
            std::uint64_t seed = 1)
      : workers_(workers) {
    SyncRecipe recipe;
    recipe.rule = text;
    auto rule = make_rule(recipe, {.workers = workers, .seed = seed});
    if (rule != nullptr) rule_.emplace(std::move(rule), size);
  }

  // What stands for the mean of the gradients of all workers; an empty one has
  // not come. `parameters` are what they are of.
  std::vector<float> mean_of(std::span<const std::vector<float>> gradients,
                             std::span<const float> parameters) {
    std::vector<std::vector<float>> scaled(gradients.begin(), gradients.end());
    std::vector<Contribution> arrived;
    for (std::size_t i = 0; i < scaled.size(); ++i) {
      for (float& value : scaled[i]) value /= static_cast<float>(workers_);
      if (!scaled[i].empty()) {
        arrived.push_back({static_cast<int>(i), scaled[i]});
      }
    }
    std::vector<float> result(parameters.size(), 0.0f);
    if (rule_) {
      rule_->combine(arrived, parameters, result);
    } else {
      for (const Contribution& each : arrived) {
        for (std::size_t i = 0; i < result.size(); ++i) {
          result[i] += each.values[i];
        }
      }
    }
    const float times =
        static_cast<float>(workers_) / static_cast<float>(arrived.size());
    if (times == 1) return result;
    for (float& value : result) value *= times;
    return result;
  }

  RuleFigures figures() const {
    return rule_ ? rule_->rule().figures() : RuleFigures();
  }
  const LoneRule& rule() const { return *rule_; }
  void restore(const RuleSteps& other) { rule_->restore(*other.rule_); }

 private:
  int workers_;
  std::optional<LoneRule> rule_;
};

}  // namespace weft::test
