#include "weft/ops/support/normalization.h"

#include <cmath>

#include "weft/ops/support/doubles.h"

namespace weft {
namespace {

// h = (x - mean) * factor, for each set of some elements.
struct SetStatistics {
  std::vector<double> mean, factor;

  SetStatistics(const NormalizedSets& sets, const std::vector<double>& x) {
    const auto size = static_cast<double>(sets.set_size());
    mean.resize(x.size() / sets.set_size());
    factor.resize(mean.size());
    if (sets.is_centred) {
      // Each term is divided at once, so that sums of many large numbers stay
      // in range.
      for (std::size_t i = 0; i < x.size(); ++i) {
        mean[sets.set_of(i)] += x[i] / size;
      }
    }
    // Deviations are taken from the mean itself in a second pass, which does
    // not cancel. Without a mean it is 0 here, and this is the mean square.
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double distance = x[i] - mean[sets.set_of(i)];
      factor[sets.set_of(i)] += distance * distance / size;
    }
    for (double& each : factor) each = 1 / std::sqrt(each + sets.epsilon);
  }
};

}  // namespace

TensorType channel_type(const OpCall& call) {
  const TensorType& x = call.input(0);
  return {statistics_dtype(x.dtype), {x.shape.back()}};
}

void check_image(const OpCall& call) {
  if (!is_floating(call.input(0).dtype)) {
    throw call.error("computes in floats only");
  }
  if (call.input(0).shape.rank() < 1) {
    throw call.error("a scalar has no channels");
  }
}

void check_channels(const OpCall& call, std::size_t first, std::size_t last) {
  // Scale and shift are of the dtype of statistics: f32 beside bf16 and f16,
  // whose few bits would lose small updates of them.
  const TensorType expected = channel_type(call);
  for (std::size_t i = first; i < last; ++i) {
    // They do not broadcast, so that kernels may read one number per channel.
    if (!(call.input(i) == expected)) {
      throw call
          .error("{} must be {}", call.op.input_name(i), to_string(expected))
          .hint("one number per channel, the image's last axis");
    }
  }
}

std::vector<TensorType> infer_normalised(const OpCall& call) {
  check_image(call);
  check_channels(call, 1, call.inputs.size());
  return {call.input(0)};
}

std::vector<TensorType> infer_normalised_gradient(const OpCall& call) {
  check_image(call);
  check_channels(call, 1, 2);
  if (!(call.input(2) == call.input(0))) {
    throw call.error("dy must be {}, as x is", to_string(call.input(0)));
  }
  // The op says how many gradients it has: a norm without a mean has no shift.
  std::vector<TensorType> results(call.op.output_names().size(),
                                  channel_type(call));
  results[0] = call.input(0);
  return results;
}

void normalised_reference(const NormalizedSets& sets,
                          std::span<const TensorView> inputs,
                          std::span<const TensorView> outputs) {
  auto x = to_doubles(inputs[0]);
  if (x.empty()) return;  // of a set without elements there is no mean
  const auto scale = to_doubles(inputs[1]);
  const SetStatistics of(sets, x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t set = sets.set_of(i);
    x[i] = (x[i] - of.mean[set]) * of.factor[set] * scale[i % sets.channels];
  }
  if (inputs.size() > 2) {
    const auto shift = to_doubles(inputs[2]);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += shift[i % sets.channels];
  }
  from_doubles(x, outputs[0]);
}

void normalised_gradient_reference(const NormalizedSets& sets,
                                   std::span<const TensorView> inputs,
                                   std::span<const TensorView> outputs) {
  const auto x = to_doubles(inputs[0]);
  const auto scale = to_doubles(inputs[1]);
  const auto dy = to_doubles(inputs[2]);
  std::vector<double> dscale(scale.size());
  std::vector<double> dshift(scale.size());
  if (!x.empty()) {
    const SetStatistics of(sets, x);
    std::vector<double> h(x.size());
    std::vector<double> mean_g(of.mean.size());
    std::vector<double> mean_gh(of.mean.size());
    const auto size = static_cast<double>(sets.set_size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t set = sets.set_of(i);
      const std::size_t channel = i % sets.channels;
      // With y = h scale + shift and g = dy scale, dx = (g - mean g - h mean(g
      // h)) factor, the means over the set (Ioffe and Szegedy, "Batch
      // normalization", 2015, section 3).
      h[i] = (x[i] - of.mean[set]) * of.factor[set];
      if (sets.is_centred) mean_g[set] += dy[i] * scale[channel] / size;
      mean_gh[set] += dy[i] * scale[channel] * h[i] / size;
      // Scale and shift are shared by all sets, so that their gradients add up
      // over all.
      dscale[channel] += dy[i] * h[i];
      dshift[channel] += dy[i];
    }
    std::vector<double> dx(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t set = sets.set_of(i);
      const double g = dy[i] * scale[i % sets.channels];
      dx[i] = (g - mean_g[set] - h[i] * mean_gh[set]) * of.factor[set];
    }
    from_doubles(dx, outputs[0]);
  }
  // Without elements these are sums of nothing, and 0.
  from_doubles(dscale, outputs[1]);
  if (outputs.size() > 2) from_doubles(dshift, outputs[2]);
}

}  // namespace weft
