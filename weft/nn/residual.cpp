#include "weft/nn/residual.h"

#include <limits>

#include "weft/ops/arithmetic.h"
#include "weft/ops/slice.h"
#include "weft/ops/unary.h"

namespace weft::nn {

ResidualBlock::ResidualBlock(std::int64_t inputs, std::int64_t outputs,
                             std::int64_t stride)
    : more_channels_(outputs - inputs),
      stride_(stride),
      conv1_(
          child("conv1",
                Conv2d{inputs, outputs, 3, {.stride = stride, .bias = false}})),
      bn1_(child("bn1", BatchNorm{outputs})),
      conv2_(child("conv2", Conv2d{outputs, outputs, 3, {.bias = false}})),
      bn2_(child("bn2", BatchNorm{outputs})) {}

Value ResidualBlock::forward(const Value& x) {
  const Value y = relu(bn1_(conv1_(x)));
  // As in the paper, the second relu comes after the sum.
  return relu(bn2_(conv2_(y)) + shortcut(x));
}

Value ResidualBlock::shortcut(const Value& x) const {
  constexpr auto kEnd = std::numeric_limits<std::int64_t>::max();
  Value y = x;
  if (stride_ > 1) {
    // Option A of the paper: pixels a stride apart, and zeros for the channels
    // that the input does not have.
    y = slice(y, {0, 0, 0, 0}, {kEnd, kEnd, kEnd, kEnd},
              {1, stride_, stride_, 1});
  }
  if (more_channels_ > 0) {
    // Half of the new channels come before the old ones; of an odd number, one
    // more comes behind.
    const std::int64_t low = more_channels_ / 2;
    y = pad(y, {0, 0, 0, low}, {0, 0, 0, more_channels_ - low});
  }
  return y;
}

}  // namespace weft::nn
