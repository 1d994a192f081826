// Convolutions as oneDNN sees them. Images stay NHWC and weights HWIO in
// memory; where a primitive prefers blocked weights, a reorder into scratch
// memory comes first: weights are small next to images.
//
// Threads: a value type.
#pragma once

#include <optional>

#include "weft/kernels/onednn/program.h"

namespace weft::onednn {

// [N, H, W, C] in memory, named N, C, H, W as oneDNN does.
dnnl::memory::desc image(const TensorType& type);

// Types, attributes and sizes of a convolution, however it is derived.
struct Convolution {
  using memory = dnnl::memory;

  TensorType x, w, y;
  std::int64_t groups;
  memory::dims strides, dilation, padding_before, padding_after;

  Convolution(const OpCall& call, const TensorType& image_type,
              const TensorType& weight_type, const TensorType& result_type);

  // A window of one pixel, which leaves out pixels between.
  bool skips_pixels() const;
  // HWIO in memory, named (G,) O, I, H, W.
  memory::dims weight_dims() const;
  memory::desc weights() const;
  // What a primitive computes with, in any layout.
  memory::desc free_weights(DType dtype) const {
    return any_layout(dtype, weight_dims());
  }
  // The primitive that computes y, with sums of products as they are written
  // down; `bias` is its layout.
  dnnl::convolution_forward::primitive_desc forward(
      const dnnl::primitive_attr& attr,
      const std::optional<memory::desc>& bias = {}) const;
};

// What computes a call of a convolution, whose operands from `first` on are the
// image, the weights and a bias or none: with its activation.
std::unique_ptr<Program> forward_program(const OpCall& call,
                                         const Convolution& convolution,
                                         const dnnl::primitive_attr& attr,
                                         std::size_t first);

}  // namespace weft::onednn
