#include "weft/compiler/part_copies.h"

#include "weft/kernels/simd/strided_copy.h"

namespace weft {
namespace {

class PartCopies final : public PreparedKernel {
 public:
  explicit PartCopies(const std::vector<PartCopy>& copies) {
    for (const PartCopy& part : copies) {
      const Shape bytes{static_cast<Dim>(part.bytes)};
      copies_.emplace_back(part, StridedCopy(1, bytes, {1}, {1}));
    }
  }

  void run(const KernelBuffers& buffers) noexcept override {
    for (const auto& [part, copy] : copies_) {
      copy.run(static_cast<const std::byte*>(buffers.inputs[part.input]) +
                   part.from_offset,
               static_cast<std::byte*>(buffers.outputs[part.output]) +
                   part.to_offset);
    }
  }

 private:
  std::vector<std::pair<PartCopy, StridedCopy>> copies_;
};

}  // namespace

std::unique_ptr<PreparedKernel> copy_parts(
    const std::vector<PartCopy>& copies) {
  return std::make_unique<PartCopies>(copies);
}

}  // namespace weft
