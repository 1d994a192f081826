#include "weft/nn/norm.h"

#include "weft/base/error.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/constant.h"
#include "weft/ops/norm.h"
#include "weft/ops/reduce.h"
#include "weft/tensor/symbol.h"

namespace weft::nn {
namespace {

// How many rows `x` has in front of its last axis, as an f32 scalar. Symbolic
// dims are counted when the function runs.
Value row_count(const Value& x) {
  std::int64_t known = 1;
  Shape unknown;
  for (int axis = 0; axis + 1 < x.shape().rank(); ++axis) {
    const Dim dim = x.shape()[axis];
    if (is_symbolic(dim)) {
      unknown.push_back(dim);
    } else {
      known *= dim;
    }
  }
  const auto factor = static_cast<double>(known);
  if (unknown.rank() == 0) return scalar(factor, DType::kF32);
  // A sum of ones has as many terms as the dims turn out to have.
  return sum(full({DType::kF32, unknown}, 1)) * factor;
}

}  // namespace

BatchNorm::BatchNorm(std::int64_t channels, BatchNormOptions options)
    : options_(options),
      weight_(parameter("weight", {channels}, Init::constant(1))),
      bias_(parameter("bias", {channels}, Init::constant(0))),
      running_mean_(parameter("running_mean", {channels}, Init::constant(0),
                              Role::kStatistic)),
      running_var_(parameter("running_var", {channels}, Init::constant(1),
                             Role::kStatistic)) {}

Value BatchNorm::forward(const Value& x) {
  // Once trained, an example's result must not depend on its batch.
  if (!is_training()) {
    return batch_norm_infer(x, value_of(weight_), value_of(bias_),
                            value_of(running_mean_), value_of(running_var_),
                            options_.epsilon);
  }
  const auto [y, mean, variance] =
      batch_norm(x, value_of(weight_), value_of(bias_), options_.epsilon);
  update_statistics(x, mean, variance);
  return y;
}

void BatchNorm::update_statistics(const Value& x, const Value& mean,
                                  const Value& variance) {
  // These are moving averages with weight m for the newest batch.
  const double m = options_.momentum;
  const Value n = row_count(x);
  // A single row has no unbiased variance; its biased one, 0, stays 0.
  // The mean is the batch's own, so that squares about it are too small by (n -
  // 1) / n: examples outside of the batch will be farther away.
  const Value unbiased = variance * (n / maximum(n - 1.0, scalar_like(n, 1)));
  running_mean_->variable.assign(value_of(running_mean_) * (1 - m) + mean * m);
  running_var_->variable.assign(value_of(running_var_) * (1 - m) +
                                unbiased * m);
}

LayerNorm::LayerNorm(std::int64_t width, double epsilon)
    : epsilon_(epsilon),
      weight_(parameter("weight", {width}, Init::constant(1))),
      bias_(parameter("bias", {width}, Init::constant(0))) {}

Value LayerNorm::forward(const Value& x) {
  return layer_norm(x, value_of(weight_), value_of(bias_), epsilon_);
}

RmsNorm::RmsNorm(std::int64_t width, double epsilon)
    : epsilon_(epsilon),
      weight_(parameter("weight", {width}, Init::constant(1))) {}

Value RmsNorm::forward(const Value& x) {
  return rms_norm(x, value_of(weight_), epsilon_);
}

GroupNorm::GroupNorm(std::int64_t groups, std::int64_t channels, double epsilon)
    : groups_(groups),
      epsilon_(epsilon),
      weight_(parameter("weight", {channels}, Init::constant(1))),
      bias_(parameter("bias", {channels}, Init::constant(0))) {
  if (groups < 1 || channels % groups != 0) {
    throw Error(ErrorCode::kInvalidArgument, "group_norm",
                "{} groups do not divide {} channels", groups, channels);
  }
}

Value GroupNorm::forward(const Value& x) {
  return group_norm(x, value_of(weight_), value_of(bias_), groups_, epsilon_);
}

}  // namespace weft::nn
