// Runs one candidate kernel and the op's reference on the same random
// operands, and compares.
#pragma once

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "weft/graph/kernel.h"
#include "weft/graph/registry.h"

namespace weft {

// A call that owns what OpCall refers to.
class Call {
 public:
  Call(const std::string& op, const OpSample& sample);

  OpCall get() const { return {op_, inputs_, attributes_, outputs_}; }
  const OpSample& sample() const { return sample_; }
  // Operands drawn by Philox within each sample's bounds.
  std::vector<Tensor> random_operands(std::uint64_t seed = 1) const;
  std::vector<Tensor> run(PreparedKernel& kernel,
                          const std::vector<Tensor>& operands) const;
  std::vector<Tensor> run_reference(const std::vector<Tensor>& operands) const;
  std::string describe() const;

 private:
  const OpDef& op_;
  OpSample sample_;
  Attributes attributes_;
  std::vector<TensorType> inputs_;
  std::vector<TensorType> outputs_;
};

// The candidate of that name. Fails the test if there is none.
const KernelCandidate& candidate(const std::string& op,
                                 const std::string& name);

// Expects the candidate's results to differ from the reference's by at most
// `tolerance` of the largest element, bf16's rounding added where it applies;
// integers must agree. Then runs again, and on one thread, and expects the
// same bits. Returns false if the candidate declined.
bool agrees_with_reference(const std::string& op, const std::string& name,
                           const OpSample& sample, double tolerance);

// All samples of the op; expects that the candidate takes at least one.
void expect_agreement(const std::string& op, const std::string& name,
                      double tolerance);

}  // namespace weft
