// One op with one of its samples, made ready to run: what the property tests
// walk over. Everything is derived from the registry.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/graph/kernel.h"
#include "weft/graph/registry.h"
#include "weft/graph/value.h"

namespace weft::testing {

class OpCase {
 public:
  // Throws Error if inference refuses the sample.
  OpCase(const OpDef& op, const OpSample& sample, std::uint64_t seed);
  // The same call of other numbers, of the same types.
  OpCase with_inputs(std::vector<Tensor> inputs) const;
  // The sample with its floats, also those that attributes name, in another
  // floating dtype.
  OpSample in_dtype(DType dtype) const;

  const OpDef& op() const { return *op_; }
  const OpSample& sample() const { return sample_; }
  const Attributes& attributes() const { return attributes_; }
  const std::vector<Tensor>& inputs() const { return inputs_; }
  const std::vector<TensorType>& input_types() const { return input_types_; }
  const std::vector<TensorType>& output_types() const { return output_types_; }
  OpCall call() const {
    return {*op_, input_types_, attributes_, output_types_};
  }
  // "sum(f32[3, 5]) {axes = [1], …}".
  std::string text() const;

  // What the op's definition computes.
  std::vector<Tensor> reference() const;

  // How many additions, or operations alike, stand behind an output element,
  // roughly.
  double reduction_length() const;

 private:
  const OpDef* op_;
  OpSample sample_;
  Attributes attributes_;
  std::vector<Tensor> inputs_;
  std::vector<TensorType> input_types_;
  std::vector<TensorType> output_types_;
};

// Calls body for every sample of every op, with a trace that names it.
void for_each_case(const std::function<void(const OpCase&)>& body);

// A tensor drawn as the sample says: the same for the same seed.
Tensor random_tensor(const InputSample& sample, std::uint64_t seed);

// Runs a kernel between guard bytes. Adds a test failure if it writes outside
// its outputs or changes its inputs.
std::vector<Tensor> run_guarded(PreparedKernel& kernel,
                                std::span<const Tensor> inputs,
                                std::span<const TensorType> outputs);

// Adds a test failure unless all elements agree: exactly for integers, within
// rounding of `length` additions for floats.
void expect_close(const Tensor& actual, const Tensor& expected,
                  double length = 1);

}  // namespace weft::testing
