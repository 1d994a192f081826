// Which steps go along a batch, the leading axis: what they compute for some of
// its examples is a part of what they compute for all, or a part of a sum. Such
// a step can run over a few examples at a time.
//
// Threads: pure functions.
#pragma once

#include <optional>
#include <vector>

#include "weft/compiler/steps.h"

namespace weft {

struct BatchRoles {
  // What a result is: a part for each example, or one for the whole batch.
  enum Result { kEach, kSum, kMean, kVariance };

  Dim examples;
  std::vector<bool> is_each;  // by operand of the step; others all share
  std::vector<Result> results;

  bool has_only_parts() const;
};

// Nothing for a step that does not go along a batch, or of which that is not
// known. Dims are static.
std::optional<BatchRoles> batch_roles(const Function& function,
                                      const PlanStep& step);

// The program of a loop over so many examples.
LoopProgram with_examples(LoopProgram program, Dim examples);

// The same for a step of one node.
struct CallOfExamples {
  std::vector<TensorType> inputs, outputs;
  Attributes attributes;
};
CallOfExamples with_examples(const Function& function, const Node& node,
                             const BatchRoles& roles, Dim examples);

}  // namespace weft
