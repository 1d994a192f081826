// Which parts of the parameters a step on a batch reads and changes, told
// before it runs: of a table that is only looked up, as an embedding is, the
// rows that the batch names, and all of the others (optim/row_gradient.h).
//
//   TouchedParts touched(description);
//   for (const ParameterPart& part : touched.of(batch.tensors, number)) …
//
// Threads: caller synchronises.
// Cost:    the indices are computed, and sorted.
#pragma once

#include <span>
#include <vector>

#include "weft/train/step/parameter_part.h"
#include "weft/train/step/step.h"

namespace weft {

class TouchedParts {
 public:
  // As StepCut::kTrain of `description` updates them, which has an optimizer.
  explicit TouchedParts(const StepDescription& description);

  // Those of step `number`: parameters in their order, rows ascending, and
  // each once. Good until the next call.
  std::span<const ParameterPart> of(std::span<const Tensor> inputs,
                                    std::int64_t number);

 private:
  void add_rows(std::size_t parameter, const Tensor& indices);

  Step look_up_;
  std::vector<ParameterPart> whole_;
  std::vector<std::int64_t> heights_;  // rows of each parameter
  std::vector<std::int64_t> rows_;
  std::vector<ParameterPart> parts_;
};

}  // namespace weft
