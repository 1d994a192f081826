#include "weft/kernels/onednn/convolution.h"

namespace weft::onednn {

dnnl::memory::desc image(const TensorType& type) {
  const Shape& s = type.shape;
  // oneDNN names dims N, C, H, W in this order; that channels lie innermost is
  // said by the strides.
  return strided(type.dtype, {s[0], s[3], s[1], s[2]},
                 {s[1] * s[2] * s[3], 1, s[2] * s[3], s[3]});
}

Convolution::Convolution(const OpCall& call, const TensorType& image_type,
                         const TensorType& weight_type,
                         const TensorType& result_type)
    : x(image_type),
      w(weight_type),
      y(result_type),
      groups(call.attributes.integer("groups")),
      strides(call.attributes.integers("strides")) {
  // oneDNN counts the pixels left out, so that 0 is dense.
  for (const std::int64_t d : call.attributes.integers("dilation")) {
    dilation.push_back(d - 1);
  }
  const Integers& padding = call.attributes.integers("padding");
  padding_before = {padding[0], padding[2]};
  padding_after = {padding[1], padding[3]};
}

bool Convolution::skips_pixels() const {
  const memory::dims none = {0, 0};
  return w.shape[0] * w.shape[1] == 1 && strides[0] * strides[1] > 1 &&
         padding_before == none && padding_after == none;
}

Convolution::memory::dims Convolution::weight_dims() const {
  const Shape& s = w.shape;
  if (groups == 1) return {s[3], s[2], s[0], s[1]};
  return {groups, s[3] / groups, s[2], s[0], s[1]};
}

Convolution::memory::desc Convolution::weights() const {
  const Shape& s = w.shape;
  // The dims are O, I, H, W; in memory O is innermost.
  memory::dims strides_of = {1, s[3], s[1] * s[2] * s[3], s[2] * s[3]};
  // Output channels of one group lie side by side.
  if (groups > 1) strides_of.insert(strides_of.begin(), s[3] / groups);
  return strided(w.dtype, weight_dims(), strides_of);
}

dnnl::convolution_forward::primitive_desc Convolution::forward(
    const dnnl::primitive_attr& attr,
    const std::optional<memory::desc>& bias) const {
  // Winograd's algorithm would be faster for some shapes, with larger rounding
  // errors (docs/design.md).
  constexpr auto direct = dnnl::algorithm::convolution_direct;
  constexpr auto training = dnnl::prop_kind::forward_training;
  if (bias) {
    return describe<dnnl::convolution_forward>(
        attr, training, direct, image(x), free_weights(x.dtype), *bias,
        image(y), strides, dilation, padding_before, padding_after);
  }
  return describe<dnnl::convolution_forward>(
      attr, training, direct, image(x), free_weights(x.dtype), image(y),
      strides, dilation, padding_before, padding_after);
}

std::unique_ptr<Program> forward_program(const OpCall& call,
                                         const Convolution& convolution,
                                         const dnnl::primitive_attr& attr,
                                         std::size_t first) {
  const Convolution& c = convolution;
  std::optional<dnnl::memory::desc> bias;
  if (call.has_input(first + 2)) {
    bias = dense(call.input(first + 2).dtype, {c.w.shape[3]});
  }
  const auto description = c.forward(attr, bias);
  auto program = std::make_unique<Program>();
  const Slot weights = program->in_layout(call, first + 1, c.weights(),
                                          description.weights_desc());
  std::vector<Argument> arguments = {
      {DNNL_ARG_SRC, image(c.x), Slot::input(first)},
      {DNNL_ARG_WEIGHTS, description.weights_desc(), weights},
      {DNNL_ARG_DST, image(c.y), Slot::output(0)}};
  if (bias) {
    arguments.push_back({DNNL_ARG_BIAS, *bias, Slot::input(first + 2)});
  }
  program->add(dnnl::convolution_forward(description),
               description.scratchpad_desc(), arguments);
  if (call.attributes.text("activation") == "relu") program->end_with_relu(c.y);
  return program;
}

}  // namespace weft::onednn
