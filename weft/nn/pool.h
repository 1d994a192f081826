// Layers without parameters that change the shape of NHWC images.
//
// Threads: as Module.
#pragma once

#include "weft/nn/module.h"

namespace weft::nn {

struct PoolLayerOptions {
  std::int64_t stride = 0;  // 0: the window
  std::int64_t padding = 0;
  // Rounds the number of windows up: the last one may hang over the end, as
  // long as it begins within the image or the padding before it. Of sizes that
  // are known.
  bool ceil = false;
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
  // With `counts_padding`, zeros beyond the image count in means. Throws
  // Error(kInvalidArgument) for that together with `ceil`: windows would count
  // zeros that nobody asked for.
  explicit AvgPool2d(std::int64_t window, PoolLayerOptions options = {},
                     bool counts_padding = false);

 protected:
  Value forward(const Value& x) override;

 private:
  std::int64_t window_;
  PoolLayerOptions options_;
  bool counts_padding_;
};

// Means of size x size windows that share the image out evenly, [N, H, W, C] to
// [N, size, size, C]: window i of an axis goes from i/size of it, rounded down,
// to (i + 1)/size, rounded up. Of sizes that are known.
class AdaptiveAvgPool2d : public Layer {
 public:
  // Throws Error(kInvalidArgument) for less than one window.
  explicit AdaptiveAvgPool2d(std::int64_t size);

 protected:
  Value forward(const Value& x) override;

 private:
  std::int64_t size_;
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
