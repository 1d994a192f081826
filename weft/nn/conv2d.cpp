#include "weft/nn/conv2d.h"

#include "weft/base/error.h"
#include "weft/nn/scope.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/conv.h"

namespace weft::nn {

Conv2d::Conv2d(std::int64_t inputs, std::int64_t outputs, std::int64_t kernel,
               ConvOptions options)
    : options_(options), kernel_(kernel) {
  if (options.groups < 1 || inputs % options.groups != 0 ||
      outputs % options.groups != 0) {
    // The op would refuse this too, but only when data comes, and far from
    // here.
    throw Error(ErrorCode::kInvalidArgument, "conv2d",
                "{} groups do not divide {} input and {} output channels",
                options.groups, inputs, outputs);
  }
  const std::int64_t per_group = inputs / options.groups;
  // One output sums over a window of its group's channels: that is its fan-in.
  const Init init = Init::fan_in(kernel * kernel * per_group);
  weight_ = parameter("weight", {kernel, kernel, per_group, outputs}, init);
  if (options.bias) bias_ = parameter("bias", {outputs}, init);
}

Value Conv2d::forward(const Value& x) {
  const std::int64_t p = options_.padding;
  const Conv2dOptions options{
      .strides = {options_.stride, options_.stride},
      .padding = p == ConvOptions::kSame
                     ? same_padding(kernel_, kernel_, options_.dilation)
                     : Integers{p, p, p, p},
      .dilation = {options_.dilation, options_.dilation},
      .groups = options_.groups};
  Value y = conv2d(to_compute(x), to_compute(value_of(weight_)), options);
  return bias_ ? y + to_compute(value_of(bias_)) : y;
}

}  // namespace weft::nn
