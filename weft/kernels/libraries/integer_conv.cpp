// Convolutions of small integers by oneDNN, where the processor has
// instructions for them.
#include <optional>

#include "weft/kernels/onednn/convolution.h"
#include "weft/kernels/onednn/integers.h"

namespace weft {
namespace {

std::optional<std::string> integer_conv_declines(const OpCall& call) {
  if (auto reason = onednn::integers_declined()) return reason;
  if (call.input(0).shape.num_elements() == 0 ||
      call.input(1).shape.num_elements() == 0 ||
      call.outputs[0].shape.num_elements() == 0) {
    return "an operand is empty";
  }
  return std::nullopt;
}

std::unique_ptr<PreparedKernel> prepare_integer_conv(const OpCall& call) {
  using onednn::image;
  using onednn::Slot;
  const onednn::Convolution c(call, call.input(0), call.input(1),
                              call.outputs[0]);
  const auto description = onednn::describe<dnnl::convolution_forward>(
      onednn::attributes(), dnnl::prop_kind::forward_inference,
      dnnl::algorithm::convolution_direct, image(c.x),
      // The layout of the weights is oneDNN's choice, as their instructions
      // take several numbers of a channel at once.
      c.free_weights(DType::kI8), image(c.y), c.strides, c.dilation,
      c.padding_before, c.padding_after);
  auto program = std::make_unique<onednn::Program>();
  const Slot weights =
      program->in_layout(call, 1, c.weights(), description.weights_desc());
  program->add(dnnl::convolution_forward(description),
               description.scratchpad_desc(),
               {{DNNL_ARG_SRC, image(c.x), Slot::input(0)},
                {DNNL_ARG_WEIGHTS, description.weights_desc(), weights},
                {DNNL_ARG_DST, image(c.y), Slot::output(0)}});
  return program;
}

}  // namespace

void register_library_integer_conv(KernelRegistry& kernels) {
  kernels.add({.op = "integer_conv2d",
               .name = "onednn:convolution",
               .rank = 20,
               .declines = integer_conv_declines,
               .prepare = prepare_integer_conv});
}

}  // namespace weft
