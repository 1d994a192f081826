// A convolution over NHWC images: [N, H, W, inputs] to [N, H', W', outputs].
//
// Threads: as Module.
#pragma once

#include "weft/nn/module.h"

namespace weft::nn {

struct ConvOptions {
  std::int64_t stride = 1;
  // Zero pixels on each side; kSame keeps ceil(size / stride) outputs.
  std::int64_t padding = kSame;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;

  static constexpr std::int64_t kSame = -1;
};

class Conv2d : public Layer {
 public:
  // weight: f32[kernel, kernel, inputs / groups, outputs], bias:
  // f32[outputs]; both start uniform with bound 1/sqrt(inputs of one output).
  // Throws Error(kInvalidArgument) when groups divide no channels.
  Conv2d(std::int64_t inputs, std::int64_t outputs, std::int64_t kernel,
         ConvOptions options = {});

 protected:
  Value forward(const Value& x) override;

 private:
  ConvOptions options_;
  std::int64_t kernel_;
  ParameterRef weight_;
  ParameterRef bias_;
};

}  // namespace weft::nn
