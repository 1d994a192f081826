// What joins the sums of a convolution on their way to memory: a bias, another
// image, relu.
//
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_CPU_CONVOLUTION_TAIL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_CONVOLUTION_TAIL_H_
#undef WEFT_KERNELS_CPU_CONVOLUTION_TAIL_H_
#else
#define WEFT_KERNELS_CPU_CONVOLUTION_TAIL_H_
#endif

#include "weft/graph/kernel.h"
#include "weft/kernels/cpu/convolution_call.h"
#include "weft/kernels/simd/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {

// For a vector of output channels from `channel` on.
template <class Lanes>
class ConvolutionTail {
 public:
  HWY_INLINE ConvolutionTail(const ConvolutionCall& of,
                             const KernelBuffers& buffers, std::size_t channel,
                             const Lanes& lanes)
      : to_(static_cast<float*>(buffers.outputs[0]) + channel),
        bias_(simd::broadcast(0.f)),
        is_relu_(of.is_relu),
        lanes_(lanes) {
    if (of.bias) {
      bias_ = lanes.load(static_cast<const float*>(buffers.inputs[*of.bias]) +
                         channel);
    }
    if (of.added) {
      added_ = static_cast<const float*>(buffers.inputs[*of.added]) + channel;
    }
  }

  // `place` is that of the pixel's first channel in the result. What is added
  // may lie there.
  HWY_INLINE void store(simd::Vector sum, std::size_t place) const {
    sum = simd::hn::Add(sum, bias_);
    if (added_ != nullptr) {
      sum = simd::hn::Add(sum, lanes_.load(added_ + place));
    }
    // NaN stays, as the second operand of a vector's maximum.
    if (is_relu_) sum = simd::hn::Max(simd::broadcast(0.f), sum);
    lanes_.store(sum, to_ + place);
  }

 private:
  float* to_;
  simd::Vector bias_;
  const float* added_ = nullptr;
  bool is_relu_;
  Lanes lanes_;
};

}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
