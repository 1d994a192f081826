// Convolutions over NHWC images and over rows [batch, length, channels].
//
// Threads: as Module.
#pragma once

#include <optional>

#include "weft/nn/module.h"
#include "weft/ops/conv.h"

namespace weft::nn {

// In pixels; one number is the side of a square.
struct KernelSize {
  std::int64_t rows;
  std::int64_t columns;

  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr KernelSize(std::int64_t side) : rows(side), columns(side) {}
  constexpr KernelSize(std::int64_t rows, std::int64_t columns)
      : rows(rows), columns(columns) {}
};

struct ConvOptions {
  std::int64_t stride = 1;
  // Zero pixels on each side; kSame keeps ceil(size / stride) outputs.
  std::int64_t padding = kSame;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  // How the weight starts; the bias then starts at zero.
  std::optional<Init> init = {};

  static constexpr std::int64_t kSame = -1;

  // Throws Error(kInvalidArgument) when the groups do not divide the channels.
  void check(std::string_view layer, std::int64_t inputs,
             std::int64_t outputs) const;
  // The op's.
  Conv2dOptions of_kernel(const KernelSize& kernel) const;
  // How a weight starts of which one output sums over `fan_in` numbers, and a
  // bias beside it.
  Init weight_init(std::int64_t fan_in) const;
  Init bias_init(std::int64_t fan_in) const;
};

// Images [N, H, W, inputs] to [N, H', W', outputs].
class Conv2d : public Layer {
 public:
  // weight: f32[kernel rows, kernel columns, inputs / groups, outputs], bias:
  // f32[outputs]; both start uniform with bound 1/sqrt(inputs of one output)
  // unless the options say otherwise. Throws Error(kInvalidArgument) when
  // groups divide no channels.
  Conv2d(std::int64_t inputs, std::int64_t outputs, KernelSize kernel,
         ConvOptions options = {});

 protected:
  Value forward(const Value& x) override;

 private:
  ConvOptions options_;
  KernelSize kernel_;
  ParameterRef weight_;
  ParameterRef bias_;
};

// The same along the one axis of [batch, length, channels].
class Conv1d : public Layer {
 public:
  // weight: f32[kernel, inputs / groups, outputs], bias: f32[outputs], started
  // as for Conv2d.
  Conv1d(std::int64_t inputs, std::int64_t outputs, std::int64_t kernel,
         ConvOptions options = {});

 protected:
  Value forward(const Value& x) override;

 private:
  ConvOptions options_;
  std::int64_t kernel_;
  ParameterRef weight_;
  ParameterRef bias_;
};

// The transpose of Conv2d in the image: from the images that a Conv2d of the
// same options makes to those that it takes, `stride` times as large.
class ConvTranspose2d : public Layer {
 public:
  // weight: f32[kernel, kernel, outputs / groups, inputs], bias: f32[outputs];
  // both start uniform with bound 1/sqrt(kernel^2 outputs / groups). With kSame
  // the sizes are exactly `stride` times as large. Otherwise several sizes lead
  // to one under the Conv2d: the smallest is made, and `output_padding` pixels
  // more, fewer than the stride.
  ConvTranspose2d(std::int64_t inputs, std::int64_t outputs,
                  std::int64_t kernel, ConvOptions options = {},
                  std::int64_t output_padding = 0);

 protected:
  Value forward(const Value& x) override;

 private:
  Dim size_from(Dim size) const;

  ConvOptions options_;
  std::int64_t outputs_;
  std::int64_t kernel_;
  std::int64_t output_padding_;
  ParameterRef weight_;
  ParameterRef bias_;
};

}  // namespace weft::nn
