#include "weft/ops/support/convolution.h"

#include "weft/graph/registry.h"
#include "weft/tensor/symbol.h"

namespace weft {

OpDef& add_convolution_options(OpDef& op) {
  return op.attribute("strides", Integers{1, 1})
      .attribute("padding", Integers{0, 0, 0, 0})
      .attribute("dilation", Integers{1, 1})
      .attribute("groups", std::int64_t{1});
}

Attributes to_attributes(const Conv2dOptions& options) {
  return {{"strides", options.strides},
          {"padding", options.padding},
          {"dilation", options.dilation},
          {"groups", options.groups}};
}

Conv2dOptions to_options(const Attributes& attributes) {
  return {attributes.integers("strides"), attributes.integers("padding"),
          attributes.integers("dilation"), attributes.integer("groups")};
}

void check_image(const OpCall& call, const TensorType& x) {
  if (x.shape.rank() != 4) {
    throw call.error("images are [batch, rows, columns, channels], not {}",
                     to_string(x.shape));
  }
}

Shape convolved_shape(const OpCall& call, const Shape& x, const Shape& w) {
  if (w.rank() != 4) {
    throw call.error(
        "weights are [kernel rows, kernel columns, input channels / groups, "
        "output channels], not {}",
        to_string(w));
  }
  // How far a window reaches decides the result's shape. (Images may be
  // symbolic: window_count() is an expression of their size.)
  if (is_symbolic(w[0]) || is_symbolic(w[1]) || w[0] < 1 || w[1] < 1) {
    throw call.error("the kernel must have known rows and columns");
  }
  const std::int64_t groups = call.attributes.integer("groups");
  if (groups < 1) throw call.error("groups must be at least 1");
  // Equal expressions are one Dim, so the comparison holds for symbolic
  // channels as well.
  if (dim_multiply(w[2], groups) != x[3]) {
    throw call
        .error("channels do not match: the image has {}, the weights {}",
               to_string(x[3]), to_string(dim_multiply(w[2], groups)))
        .hint(
            "the weight's third dim times groups must equal the image's "
            "last dim");
  }
  // Each group writes a block of outputs of its own, all of one size.
  if (!dim_divide_exactly(w[3], groups)) {
    throw call.error("{} output channels do not split into {} groups",
                     to_string(w[3]), groups);
  }
  const Window window = window_of(call, w[0], w[1]);
  return {x[0], window_count(call, window.rows, x[1]),
          window_count(call, window.columns, x[2]), w[3]};
}

double convolution_flops(const Shape& y, const Shape& w) {
  // Each output takes a multiplication and an addition for each tap and input
  // channel of its group. Padding counts as if it were computed.
  return 2.0 * static_cast<double>(y.num_elements()) *
         static_cast<double>(w[0] * w[1] * w[2]);
}

std::vector<ConvolutionCase> convolution_cases() {
  return {
      {{2, 5, 6, 3}, {3, 3, 3, 4}, {{1, 1}, {1, 1, 1, 1}}},
      {{1, 7, 5, 2}, {3, 2, 2, 3}, {{2, 3}, {1, 0, 0, 2}}},
      {{2, 6, 6, 4}, {3, 3, 2, 6}, {{1, 1}, {1, 1, 1, 1}, {1, 1}, 2}},
      {{1, 6, 6, 4}, {3, 3, 1, 4}, {{1, 1}, {1, 1, 1, 1}, {1, 1}, 4}},
      {{1, 7, 7, 2}, {3, 3, 2, 2}, {{1, 1}, {0, 0, 0, 0}, {2, 2}}},
      {{2, 4, 4, 3}, {1, 1, 3, 5}, {{2, 2}}},
  };
}

}  // namespace weft
