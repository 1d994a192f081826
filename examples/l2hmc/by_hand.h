// The sampler as a function that is put together by hand: what jit does for
// its user, spelled out.
#pragma once

#include <vector>

#include "examples/l2hmc/sampler.h"

#include "weft/nn/staging.h"
#include "weft/runtime/executable.h"

namespace weft::examples {

class L2hmcByHand {
 public:
  L2hmcByHand(L2hmc& sampler, std::int64_t chains, bool is_forward)
      : executable_(build(sampler, chains, is_forward)) {
    for (const auto& named : sampler.parameters()) {
      arguments_.push_back(named.parameter->variable.tensor());
    }
    arguments_.resize(arguments_.size() + 2);
  }

  // The next positions, and the probabilities.
  std::vector<Tensor> move(const Tensor& x, const Tensor& key) {
    arguments_[arguments_.size() - 2] = x;
    arguments_[arguments_.size() - 1] = key;
    return executable_.run(arguments_);
  }

 private:
  static Executable build(L2hmc& sampler, std::int64_t chains,
                          bool is_forward) {
    FunctionBuilder builder("l2hmc");
    const nn::Staging staged(sampler, builder);
    const Value x = builder.parameter({DType::kF32, {chains, 2}}, "x");
    const Value key = builder.parameter({DType::kI64, {2}}, "key");
    return Executable(builder.build([&] {
      const L2hmc::Move next = sampler.move(x, key, is_forward);
      return std::vector{next.position, next.probability};
    }));
  }

  std::vector<Tensor> arguments_;  // parameters, x, key
  Executable executable_;
};

}  // namespace weft::examples
