// Convolutions by oneDNN.
#include <optional>

#include "weft/kernels/onednn/convolution.h"

namespace weft {
namespace {

using dnnl::memory;
using onednn::Convolution;
using onednn::image;
using onednn::Slot;

std::optional<std::string> conv_declines(const OpCall& call) {
  for (const auto& type : call.inputs) {
    if (auto reason = onednn::dtype_declined(type.dtype)) return reason;
    // There is nothing to compute fast, so empty operands are the reference's.
    if (type.shape.num_elements() == 0) return "an operand is empty";
  }
  if (call.outputs[0].shape.num_elements() == 0) return "the result is empty";
  return std::nullopt;
}

std::unique_ptr<PreparedKernel> prepare_conv(const OpCall& call) {
  const Convolution c(call, call.input(0), call.input(1), call.outputs[0]);
  return forward_program(call, c, onednn::attributes(), 0);
}

std::unique_ptr<PreparedKernel> prepare_input_gradient(const OpCall& call) {
  const Convolution c(call, call.outputs[0], call.input(1), call.input(0));
  const auto attr = onednn::attributes();
  // oneDNN wants the forward description as a hint for each gradient.
  const auto description =
      onednn::describe_backward<dnnl::convolution_backward_data>(
          attr, c.forward(attr), dnnl::algorithm::convolution_direct,
          image(c.x), c.free_weights(c.x.dtype), image(c.y), c.strides,
          c.dilation, c.padding_before, c.padding_after);
  auto program = std::make_unique<onednn::Program>();
  const Slot weights = program->in_layout(c.weights(), Slot::input(1),
                                          description.weights_desc());
  program->add(dnnl::convolution_backward_data(description),
               description.scratchpad_desc(),
               {{DNNL_ARG_DIFF_DST, image(c.y), Slot::input(0)},
                {DNNL_ARG_WEIGHTS, description.weights_desc(), weights},
                {DNNL_ARG_DIFF_SRC, image(c.x), Slot::output(0)}});
  return program;
}

// Copies the pixels that a 1 x 1 window sees, and makes of `c` the dense
// convolution over them. oneDNN's own copy of them (2.6, jit_1x1:avx2) races:
// of 600 small weight gradients on two busy threads one is wrong.
Slot take_pixels(Convolution& c, onednn::Program& program) {
  const Shape& from = c.x.shape;
  const TensorType seen{c.x.dtype,
                        {from[0], c.y.shape[1], c.y.shape[2], from[3]}};
  const auto apart = onednn::strided(
      seen.dtype, {from[0], from[3], seen.shape[1], seen.shape[2]},
      {from[1] * from[2] * from[3], 1, c.strides[0] * from[2] * from[3],
       c.strides[1] * from[3]});
  c.x = seen;
  c.strides = {1, 1};
  return program.in_layout(apart, Slot::input(0), image(seen));
}

std::unique_ptr<PreparedKernel> prepare_weight_gradient(const OpCall& call) {
  Convolution c(call, call.input(0), call.outputs[0], call.input(1));
  const auto attr = onednn::attributes();
  auto program = std::make_unique<onednn::Program>();
  Slot pixels = Slot::input(0);
  if (c.skips_pixels()) pixels = take_pixels(c, *program);
  // Sums over the whole batch: f32 even between bf16 images.
  const auto description =
      onednn::describe_backward<dnnl::convolution_backward_weights>(
          attr, c.forward(attr), dnnl::algorithm::convolution_direct,
          image(c.x), c.free_weights(DType::kF32), image(c.y), c.strides,
          c.dilation, c.padding_before, c.padding_after);
  const memory::desc computed = description.diff_weights_desc();
  // The primitive gives f32 in the layout that it prefers, which need not be
  // those of the result.
  const bool is_final = computed == c.weights();
  const Slot weights = is_final ? Slot::output(0) : program->reserve(computed);
  program->add(dnnl::convolution_backward_weights(description),
               description.scratchpad_desc(),
               {{DNNL_ARG_SRC, image(c.x), pixels},
                {DNNL_ARG_DIFF_DST, image(c.y), Slot::input(1)},
                {DNNL_ARG_DIFF_WEIGHTS, computed, weights}});
  if (!is_final) {
    program->add_reorder(computed, weights, c.weights(), Slot::output(0));
  }
  return program;
}

}  // namespace

void register_library_conv(KernelRegistry& kernels) {
  kernels.add({.op = "conv2d",
               .name = "onednn:convolution",
               .rank = 10,
               .declines = conv_declines,
               .prepare = prepare_conv,
               .competes = true});
  kernels.add({.op = "conv2d_input_gradient",
               .name = "onednn:convolution",
               .rank = 10,
               .declines = conv_declines,
               .prepare = prepare_input_gradient,
               .competes = true});
  kernels.add({.op = "conv2d_weight_gradient",
               .name = "onednn:convolution",
               .rank = 10,
               .declines = conv_declines,
               .prepare = prepare_weight_gradient,
               .competes = true});
}

}  // namespace weft
