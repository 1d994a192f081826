// Normalisation layers. All compute their statistics in f32.
//
// Threads: as Module.
#pragma once

#include "weft/nn/module.h"

namespace weft::nn {

struct BatchNormOptions {
  double epsilon = 1e-5;
  double momentum = 0.1;  // running = (1 - momentum) running + momentum batch
};

// Batch normalisation over all axes but the last (Ioffe and Szegedy, 2015).
// While training it uses the batch's moments and updates running_mean and
// running_var; afterwards it uses those. As in PyTorch, the batch is
// normalised by its biased variance and the running one is unbiased.
class BatchNorm : public Layer {
 public:
  explicit BatchNorm(std::int64_t channels, BatchNormOptions options = {});

 protected:
  Value forward(const Value& x) override;

 private:
  void update_statistics(const Value& x, const Value& mean,
                         const Value& variance);

  BatchNormOptions options_;
  ParameterRef weight_;
  ParameterRef bias_;
  ParameterRef running_mean_;
  ParameterRef running_var_;
};

// Normalises each example over the last axis (Ba, Kiros and Hinton, 2016).
class LayerNorm : public Layer {
 public:
  explicit LayerNorm(std::int64_t width, double epsilon = 1e-5);

 protected:
  Value forward(const Value& x) override;

 private:
  double epsilon_;
  ParameterRef weight_;
  ParameterRef bias_;
};

// Divides each row of the last axis by its root mean square (Zhang and
// Sennrich, 2019).
class RmsNorm : public Layer {
 public:
  explicit RmsNorm(std::int64_t width, double epsilon = 1e-5);

 protected:
  Value forward(const Value& x) override;

 private:
  double epsilon_;
  ParameterRef weight_;
};

// Normalises groups of channels of each example, [batch, …, channels] (Wu and
// He, 2018).
class GroupNorm : public Layer {
 public:
  // Throws Error(kInvalidArgument) when the groups do not divide the channels.
  GroupNorm(std::int64_t groups, std::int64_t channels, double epsilon = 1e-5);

 protected:
  Value forward(const Value& x) override;

 private:
  std::int64_t groups_;
  double epsilon_;
  ParameterRef weight_;
  ParameterRef bias_;
};

}  // namespace weft::nn
