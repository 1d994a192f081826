// One op with the kernel that a plan would choose for it, ready to be timed.
#pragma once

#include <benchmark/benchmark.h>
#include <memory>
#include <string>
#include <vector>

#include "weft/graph/kernel.h"
#include "weft/graph/registry.h"

namespace weft::micro {

class OpRunner {
 public:
  // Operands are drawn within the sample's bounds.
  OpRunner(const std::string& op, const OpSample& sample);

  void run();
  // Fails the benchmark unless all elements equal the reference's within
  // `tolerance` of the largest. Returns whether they do.
  bool check(benchmark::State& state, double tolerance);

  const std::string& kernel_name() const { return choice_.name; }
  Cost cost() const { return op_.cost()(call()); }

 private:
  OpCall call() const { return {op_, input_types_, attributes_, types_}; }

  const OpDef& op_;
  Attributes attributes_;
  std::vector<TensorType> input_types_;
  std::vector<TensorType> types_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
  std::vector<void*> input_addresses_;
  std::vector<void*> output_addresses_;
  Tensor scratch_;
  KernelChoice choice_;
};

// Uniform in the sample's bounds; the same on every call.
Tensor random_tensor(const InputSample& sample, std::uint32_t stream);

// Whether `actual` equals `expected` within `tolerance` of its largest
// element, with bf16's rounding added where it applies; else fails the
// benchmark.
bool check_close(benchmark::State& state, const Tensor& actual,
                 const Tensor& expected, double tolerance);

// flops/s and bytes/s, from what one iteration costs.
void count(benchmark::State& state, const Cost& cost);

}  // namespace weft::micro
