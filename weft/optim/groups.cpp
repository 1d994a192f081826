#include "weft/optim/groups.h"

#include <algorithm>

#include "weft/base/wildcard.h"
#include "weft/ops/arithmetic.h"

namespace weft {
namespace {

class GroupedOptimizer : public Optimizer {
 public:
  GroupedOptimizer(std::unique_ptr<Optimizer> rest,
                   std::vector<ParameterGroup> groups)
      : groups_(std::move(groups)) {
    // All that no group has is a group too, which comes last.
    groups_.push_back({"*", 1, std::move(rest)});
  }

  std::vector<Slot> slots(const ParameterInfo& parameter) const override {
    return optimizer_of(parameter.name).slots(parameter);
  }

  std::vector<Slot> shared_slots() const override {
    std::vector<Slot> all;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      for (Slot& slot : groups_[i].optimizer->shared_slots()) {
        // Groups may have one optimizer, and slots are told apart by their
        // names; those of the rest are named as without groups.
        if (!is_rest(i)) slot.name += fmt::format(".group-{}", i);
        all.push_back(std::move(slot));
      }
    }
    return all;
  }

  void update(std::span<ParameterStep> parameters, std::span<Value> shared,
              const StepTime& time) const override {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const ParameterGroup& group = groups_[i];
      std::vector<ParameterStep> own;
      for (const ParameterStep& step : parameters) {
        if (group_of(step.name) == i) own.push_back(step);
      }
      const std::size_t count = group.optimizer->shared_slots().size();
      // No op is added for a factor of 1.
      const Value lr = group.lr_scale == 1 ? time.lr : time.lr * group.lr_scale;
      // Shared slots stand group by group, as shared_slots() lists them.
      group.optimizer->update(own, shared.first(count),
                              {lr, time.number, time.late});
      shared = shared.subspan(count);
      auto next = own.begin();
      for (ParameterStep& step : parameters) {
        if (group_of(step.name) == i) step = std::move(*next++);
      }
    }
  }

  bool keeps_without_gradient(std::string_view parameter) const override {
    return optimizer_of(parameter).keeps_without_gradient(parameter);
  }
  bool is_elementwise() const override {
    return std::ranges::all_of(groups_, [](const ParameterGroup& group) {
      return group.optimizer->is_elementwise();
    });
  }
  bool looks_at_names() const override { return true; }
  bool sees_all_parameters() const override {
    return std::ranges::any_of(groups_, [](const ParameterGroup& group) {
      return group.optimizer->sees_all_parameters();
    });
  }
  bool measures_sizes() const override {
    return std::ranges::any_of(groups_, [](const ParameterGroup& group) {
      return group.optimizer->measures_sizes();
    });
  }
  bool has_momentum() const override {
    return std::ranges::any_of(groups_, [](const ParameterGroup& group) {
      return group.optimizer->has_momentum();
    });
  }

 private:
  bool is_rest(std::size_t group) const { return group + 1 == groups_.size(); }
  std::size_t group_of(std::string_view parameter) const {
    std::size_t i = 0;
    // The last pattern fits every name, which ends the search.
    while (!matches_wildcard(groups_[i].pattern, parameter)) ++i;
    return i;
  }
  const Optimizer& optimizer_of(std::string_view parameter) const {
    return *groups_[group_of(parameter)].optimizer;
  }

  std::vector<ParameterGroup> groups_;
};

}  // namespace

std::unique_ptr<Optimizer> group_optimizers(
    std::unique_ptr<Optimizer> rest, std::vector<ParameterGroup> groups) {
  if (groups.empty()) return rest;
  return std::make_unique<GroupedOptimizer>(std::move(rest), std::move(groups));
}

}  // namespace weft
