// oneDNN's convolutions add up where another image lies. A plan gives the
// result that image's memory if nobody else reads it; otherwise it is copied.
#include <cstring>
#include <optional>

#include "weft/base/parallel.h"
#include "weft/kernels/onednn/convolution.h"

namespace weft {
namespace {

using onednn::Convolution;

std::optional<std::string> onto_declined(const OpCall& call) {
  for (const auto& type : call.inputs) {
    // The sum of narrower floats would be rounded twice.
    if (type.dtype != DType::kF32) {
      return fmt::format("adds up in f32, not in {}", to_string(type.dtype));
    }
    if (type.shape.num_elements() == 0) return "an operand is empty";
  }
  return std::nullopt;
}

class ConvolutionOnto : public PreparedKernel {
 public:
  ConvolutionOnto(std::unique_ptr<onednn::Program> program, std::int64_t bytes)
      : program_(std::move(program)), bytes_(bytes) {}

  std::size_t scratch_bytes() const override {
    return program_->scratch_bytes();
  }
  std::string implementation() const override {
    return program_->implementation();
  }
  void run(const KernelBuffers& buffers) noexcept override {
    if (buffers.inputs[0] != buffers.outputs[0]) copy(buffers);
    program_->run(buffers);
  }

 private:
  void copy(const KernelBuffers& buffers) const {
    const auto* from = static_cast<const std::byte*>(buffers.inputs[0]);
    auto* to = static_cast<std::byte*>(buffers.outputs[0]);
    constexpr std::int64_t kLeast = 64 << 10;  // worth a thread
    parallel_for(bytes_, kLeast, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(to + begin, from + begin,
                  static_cast<std::size_t>(end - begin));
    });
  }

  std::unique_ptr<onednn::Program> program_;
  std::int64_t bytes_;
};

std::unique_ptr<PreparedKernel> prepare_onto(const OpCall& call) {
  const Convolution c(call, call.input(1), call.input(2), call.outputs[0]);
  auto attr = onednn::attributes();
  dnnl::post_ops adds;
  adds.append_sum(1);
  attr.set_post_ops(adds);
  return std::make_unique<ConvolutionOnto>(
      forward_program(call, c, attr, 1),
      c.y.shape.num_elements() * static_cast<std::int64_t>(sizeof(float)));
}

}  // namespace

void register_library_conv_onto(KernelRegistry& kernels) {
  kernels.add({.op = "conv2d_onto",
               .name = "onednn:convolution",
               .rank = 10,
               .declines = onto_declined,
               .prepare = prepare_onto,
               .in_place = true,
               .competes = true});
}

}  // namespace weft
