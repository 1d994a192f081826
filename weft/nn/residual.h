// The basic residual block (He et al., "Deep residual learning", 2015):
// relu(x + bn2(conv2(relu(bn1(conv1(x)))))).
//
// Threads: as Module.
#pragma once

#include "weft/nn/conv2d.h"
#include "weft/nn/norm.h"

namespace weft::nn {

// Where the block changes size, the shortcut has no parameters (option A of
// section 4.2): every second pixel, and zero channels on both sides.
class ResidualBlock : public Layer {
 public:
  ResidualBlock(std::int64_t inputs, std::int64_t outputs, std::int64_t stride);

 protected:
  Value forward(const Value& x) override;

 private:
  Value shortcut(const Value& x) const;

  std::int64_t more_channels_;
  std::int64_t stride_;
  Conv2d& conv1_;
  BatchNorm& bn1_;
  Conv2d& conv2_;
  BatchNorm& bn2_;
};

}  // namespace weft::nn
