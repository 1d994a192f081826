// Two-dimensional convolution. Images are NHWC, weights HWIO: [kernel rows,
// kernel columns, input channels / groups, output channels]. Depthwise is
// groups == input channels.
//
// The weights of a bf16 convolution may be f32: they are rounded on the way
// in, and their gradient comes out in f32.
//
// Throws Error(kInvalidArgument) where ranks, dtypes, channels or groups do not
// fit, the kernel's size is symbolic, or no window fits into the image.
#pragma once

#include "weft/graph/context.h"

namespace weft {

struct Conv2dOptions {
  Integers strides = {1, 1};
  Integers padding = {0, 0, 0, 0};  // top, bottom, left, right
  Integers dilation = {1, 1};       // 1 is dense
  std::int64_t groups = 1;
};

Value conv2d(const Operand& x, const Operand& w,
             const Conv2dOptions& options = {});
// The transposes of conv2d in x and in w: its two gradients, and linear ops
// of their own. dy must have the shape that conv2d gives for x and w.
Value conv2d_input_gradient(const Operand& dy, const Operand& w,
                            const Shape& x_shape, const Conv2dOptions& options);
Value conv2d_weight_gradient(const Operand& x, const Operand& dy,
                             const TensorType& w_type,
                             const Conv2dOptions& options);

// The pixels that each window sees: [n, rows, columns, groups, kernel rows *
// kernel columns * channels / groups], in the order in which weights have their
// taps, so that a convolution is a product with it. It takes as many times the
// image's memory as windows overlap.
Value image_patches(const Operand& x, std::int64_t kernel_rows,
                    std::int64_t kernel_columns,
                    const Conv2dOptions& options = {});

// Padding for ceil(size / stride) outputs ("same"); where the two sides cannot
// be equal, the pixel more is below or on the right.
Integers same_padding(std::int64_t kernel_rows, std::int64_t kernel_columns,
                      std::int64_t dilation = 1);

}  // namespace weft
