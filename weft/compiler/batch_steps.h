// The steps of a plan as they go along a batch: which could take a few examples
// at a time, and which of these are transforms. A transform is one loop or
// concatenation over values that are in memory, no larger than what it makes of
// them: whoever reads it may compute it anew instead.
//
// Threads: immutable once built.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "weft/compiler/batch_roles.h"

namespace weft {

using StepList = std::vector<std::size_t>;  // positions in the list of steps

bool contains(const StepList& steps, std::size_t i);

class BatchSteps {
 public:
  // `steps` are in order. The function has to live as long.
  BatchSteps(const Function& function, std::vector<PlanStep> steps);

  const Function& function() const { return function_; }
  std::size_t size() const { return steps_.size(); }
  const PlanStep& step(std::size_t i) const { return steps_[i]; }
  const std::optional<BatchRoles>& roles(std::size_t i) const {
    return roles_[i];
  }
  bool has_sums(std::size_t i) const { return !roles_[i]->has_only_parts(); }
  // Whether a step that goes along the batch makes a value that all examples
  // share: a sum, a mean or a variance.
  bool is_sum(ValueId id) const;
  bool is_transform(std::size_t i) const { return is_transform_[i]; }
  // What makes a value; none for parameters and constants.
  std::optional<std::size_t> maker(ValueId id) const;
  // The steps other than transforms that read a value, or a transform of it;
  // size() stands for a reader of a result.
  const StepList& readers(ValueId id) const;

  // The members, each behind the transforms of which it reads each example,
  // but for those that are `in_memory`, by step; none are if that is empty.
  StepList with_transforms(const StepList& members,
                           const std::vector<bool>& in_memory = {}) const;
  // The steps other than transforms that make what a step and its transforms
  // read.
  std::set<std::size_t> sources(std::size_t i) const;

  // Values, and how much of each is read at most: some columns, or 1.
  using PartsRead = std::map<ValueId, double>;
  // What parts read and make of each example, and its bytes.
  PartsRead each_of(const StepList& parts) const;
  double example_bytes(const StepList& parts) const;
  // How many a value has for the whole batch.
  double bytes(ValueId id) const {
    return static_cast<double>(function_.type(id).bytes());
  }
  // What a step moves if the cache holds nothing of it.
  double moved_alone(std::size_t i) const;

 private:
  bool is_concat(std::size_t i) const;
  bool can_be_repeated(std::size_t i) const;
  static void add_read(PartsRead& all, ValueId id, double part);
  PartsRead leaves(std::size_t i) const;
  void add_transforms(std::size_t i, const std::vector<bool>& in_memory,
                      StepList& parts) const;
  void add_sources(std::size_t i, std::set<std::size_t>& all) const;
  void find_readers();

  const Function& function_;
  std::vector<PlanStep> steps_;
  std::vector<std::optional<BatchRoles>> roles_;
  std::unordered_map<ValueId, std::size_t> maker_;
  std::vector<bool> is_transform_;
  std::unordered_map<ValueId, StepList> readers_;
};

}  // namespace weft
