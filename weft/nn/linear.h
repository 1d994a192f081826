// A dense layer: y = x w + b, over the last axis: [..., inputs] to
// [..., outputs]. Throws Error(kInvalidArgument) where x has another width.
//
// Threads: as Module.
#pragma once

#include <optional>

#include "weft/nn/module.h"

namespace weft::nn {

struct LinearOptions {
  bool bias = true;
  // How the weight starts; the bias then starts at zero.
  std::optional<Init> init = {};
};

class Linear : public Layer {
 public:
  // weight: f32[inputs, outputs], bias: f32[outputs]; both start uniform with
  // bound 1/sqrt(inputs) unless the options say otherwise.
  Linear(std::int64_t inputs, std::int64_t outputs, LinearOptions options = {});

 protected:
  Value forward(const Value& x) override;

 private:
  ParameterRef weight_;
  ParameterRef bias_;
};

}  // namespace weft::nn
