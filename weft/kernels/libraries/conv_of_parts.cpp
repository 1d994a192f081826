// oneDNN convolves images beside each other one after the other, and adds each
// result to those before.
#include <optional>

#include "weft/kernels/onednn/convolution.h"
#include "weft/ops/support/convolution_parts.h"

namespace weft {
namespace {

using dnnl::memory;
using onednn::Convolution;
using onednn::image;
using onednn::Slot;

std::optional<std::string> parts_declined(const OpCall& call) {
  for (const auto& type : call.inputs) {
    // Sums of narrower floats would be rounded at each part.
    if (type.dtype != DType::kF32) {
      return fmt::format("adds up in f32, not in {}", to_string(type.dtype));
    }
    if (type.shape.num_elements() == 0) return "an operand is empty";
  }
  if (call.outputs[0].shape.num_elements() == 0) return "the result is empty";
  return std::nullopt;
}

// The weights of some input channels.
memory::desc weights_of(const Convolution& whole, Dim first, Dim channels) {
  memory::dims dims = whole.weight_dims();
  dims[1] = channels;
  return whole.weights().submemory_desc(dims, {0, first, 0, 0});
}

std::unique_ptr<PreparedKernel> prepare_parts(const OpCall& call) {
  const ConvolutionParts parts(call);
  auto program = std::make_unique<onednn::Program>();
  const Convolution whole(call, parts.whole(), parts.weights(),
                          call.outputs[0]);
  Dim first = 0;
  for (std::size_t i = 0; i < parts.count(); ++i) {
    Convolution part = whole;
    part.x = call.input(i);
    const Dim channels = part.x.shape[3];
    part.w.shape[2] = channels;
    auto attr = onednn::attributes();
    std::optional<memory::desc> bias;
    if (i > 0) {
      dnnl::post_ops adds;
      adds.append_sum(1);
      attr.set_post_ops(adds);
    } else if (parts.has_bias()) {
      bias = onednn::dense(DType::kF32, {whole.w.shape[3]});
    }
    const auto description = part.forward(attr, bias);
    const Slot weights = program->in_layout(call, parts.index_of_weights(),
                                            weights_of(whole, first, channels),
                                            description.weights_desc());
    std::vector<onednn::Argument> arguments = {
        {DNNL_ARG_SRC, image(part.x), Slot::input(i)},
        {DNNL_ARG_WEIGHTS, description.weights_desc(), weights},
        {DNNL_ARG_DST, image(part.y), Slot::output(0)}};
    if (bias) {
      arguments.push_back(
          {DNNL_ARG_BIAS, *bias, Slot::input(parts.index_of_weights() + 1)});
    }
    program->add(dnnl::convolution_forward(description),
                 description.scratchpad_desc(), arguments);
    first += channels;
  }
  if (call.attributes.text("activation") == "relu") {
    program->end_with_relu(whole.y);
  }
  return program;
}

}  // namespace

void register_library_conv_of_parts(KernelRegistry& kernels) {
  kernels.add({.op = "conv2d_of_parts",
               .name = "onednn:convolutions",
               .rank = 10,
               .declines = parts_declined,
               .prepare = prepare_parts,
               .competes = true});
}

}  // namespace weft
