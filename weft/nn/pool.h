// Layers without parameters that change the shape of NHWC images.
//
// Threads: as Module.
#pragma once

#include "weft/nn/module.h"

namespace weft::nn {

struct PoolLayerOptions {
  std::int64_t stride = 0;  // 0: the window
  std::int64_t padding = 0;
};

class MaxPool2d : public Layer {
 public:
  explicit MaxPool2d(std::int64_t window, PoolLayerOptions options = {})
      : window_(window), options_(options) {}

 protected:
  Value forward(const Value& x) override;

 private:
  std::int64_t window_;
  PoolLayerOptions options_;
};

class AvgPool2d : public Layer {
 public:
  explicit AvgPool2d(std::int64_t window, PoolLayerOptions options = {})
      : window_(window), options_(options) {}

 protected:
  Value forward(const Value& x) override;

 private:
  std::int64_t window_;
  PoolLayerOptions options_;
};

// The mean of each channel: [N, H, W, C] to [N, C].
class GlobalAvgPool : public Layer {
 protected:
  Value forward(const Value& x) override;
};

// [N, …] to [N, all the rest].
class Flatten : public Layer {
 protected:
  Value forward(const Value& x) override;
};

}  // namespace weft::nn
