// What convolutions are, whatever their numbers: conv2d, its gradients and
// integer_conv2d. Images are NHWC, weights HWIO (ops/conv.h).
#pragma once

#include <vector>

#include "weft/ops/conv.h"
#include "weft/ops/support/window.h"

namespace weft {

// The attributes of an op that convolves, and their values.
OpDef& add_convolution_options(OpDef& op);
Attributes to_attributes(const Conv2dOptions& options);
Conv2dOptions to_options(const Attributes& attributes);

// Throws through call.error unless x has the four axes of images.
void check_image(const OpCall& call, const TensorType& x);
// The result's shape for an image and weights. Throws through call.error where
// they do not fit.
Shape convolved_shape(const OpCall& call, const Shape& x, const Shape& w);
// It takes two flops for each tap, input channel and result, padding included.
// Taps in the padding are few, and kernels that multiply whole matrices compute
// them too.
double convolution_flops(const Shape& y, const Shape& w);

// What samples are made of.
struct ConvolutionCase {
  Shape x, w;
  Conv2dOptions options;
};
// Odd sizes, one-sided padding, strides that skip the last column, groups.
std::vector<ConvolutionCase> convolution_cases();

// Calls body(x index, w index, y index) for every product of a convolution: the
// one definition of which element meets which. With stride s, padding p and
// dilation d, tap (t, u) of the window at (r, c) reads the pixel
//   (r s - p + t d, c s - p + u d).
template <class Body>
void for_each_product(const OpCall& call, const Shape& x, const Shape& w,
                      const Shape& y, Body&& body) {
  const Window window = window_of(call, w[0], w[1]);
  // Output channels of a group read the input channels of that group, w[2] of
  // them.
  const std::int64_t group_out = w[3] / call.attributes.integer("groups");
  // The loops run in the order in which y lies in memory, so each element's sum
  // is made in one fixed order.
  for (Dim n = 0; n < y[0]; ++n)
    for (Dim row = 0; row < y[1]; ++row)
      for (Dim column = 0; column < y[2]; ++column)
        for (Dim tap_row = 0; tap_row < w[0]; ++tap_row) {
          const std::int64_t x_row = window.rows.position(row, tap_row);
          // Padding is zero, so its products are left out.
          if (x_row < 0 || x_row >= x[1]) continue;
          for (Dim tap_column = 0; tap_column < w[1]; ++tap_column) {
            const std::int64_t x_column =
                window.columns.position(column, tap_column);
            if (x_column < 0 || x_column >= x[2]) continue;
            const Dim pixel = (n * x[1] + x_row) * x[2] + x_column;
            const Dim tap = tap_row * w[1] + tap_column;
            const Dim result = ((n * y[1] + row) * y[2] + column) * y[3];
            for (Dim out = 0; out < w[3]; ++out)
              for (Dim in = 0; in < w[2]; ++in) {
                body(static_cast<std::size_t>(pixel * x[3] +
                                              out / group_out * w[2] + in),
                     static_cast<std::size_t>((tap * w[2] + in) * w[3] + out),
                     static_cast<std::size_t>(result + out));
              }
          }
        }
}

}  // namespace weft
