// What the normalisations share: their operands, and their definition. An
// image is [examples, pixels…, channels]; what is normalised together are the
// pixels of an example over a group of its channels, and a row is an example of
// one pixel and one group.
#pragma once

#include "weft/ops/support/elementwise.h"

namespace weft {

// Statistics of bf16 images are f32. Sums over a batch need more digits than
// the eight bits of a bf16 significand.
inline DType statistics_dtype(DType dtype) {
  return dtype == DType::kF64 ? DType::kF64 : DType::kF32;
}

// It has one number per channel, the last axis of operand 0.
TensorType channel_type(const OpCall& call);

// These throw through call.error: unless operand 0 has channels of floats, and
// unless operands `first` to `last`, without that, are one number per channel.
void check_image(const OpCall& call);
void check_channels(const OpCall& call, std::size_t first, std::size_t last);

// Inference of a normalisation of operand 0, and of its gradient, whose
// operands are (x, scale, dy) and whose results have the types of x and scale;
// one that shifts gives the gradient of that, too. Both throw through
// call.error for other types than these.
std::vector<TensorType> infer_normalised(const OpCall& call);
std::vector<TensorType> infer_normalised_gradient(const OpCall& call);

// Sizes of a call whose dims are all known.
struct NormalizedSets {
  std::size_t channels;
  std::size_t pixels;  // of an example
  std::size_t groups;  // of channels
  bool is_centred;     // the mean is taken off
  double epsilon;

  std::size_t set_size() const { return pixels * (channels / groups); }
  std::size_t set_of(std::size_t element) const {
    return element / (pixels * channels) * groups +
           element % channels / (channels / groups);
  }
};

// h * scale + shift with h = (x - mean) / sqrt(power + epsilon), where the
// power is the mean square of x - mean; without operand 2 there is no shift.
void normalised_reference(const NormalizedSets& sets,
                          std::span<const TensorView> inputs,
                          std::span<const TensorView> outputs);

// Its gradients at (x, scale, dy): with g = dy scale and means over a set,
//   dx = (g - mean(g) - h mean(g h)) / sqrt(power + epsilon),
//   dscale = Σ dy h,  dshift = Σ dy,
// where mean(g) is only taken off if the mean of x is.
void normalised_gradient_reference(const NormalizedSets& sets,
                                   std::span<const TensorView> inputs,
                                   std::span<const TensorView> outputs);

}  // namespace weft
