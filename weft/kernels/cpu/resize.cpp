// Images of another size, and the transpose: each pixel is a weighted sum of
// pixels, whose places and weights are settled beforehand. Channels lie side by
// side, so that a pixel is a sum of vectors.
#include <algorithm>
#include <optional>
#include <vector>

#include "weft/base/index.h"
#include "weft/base/parallel.h"
#include "weft/graph/kernel.h"
#include "weft/ops/support/resizing.h"

namespace weft {
namespace {

// The taps of all pixels of an axis one behind another.
struct FlatTaps {
  struct Tap {
    std::int64_t from;
    float weight;
  };
  std::vector<Tap> taps;
  std::vector<std::size_t> begins{0};  // of each pixel, and the end

  explicit FlatTaps(const ResizeTaps& all) {
    for (const auto& of_pixel : all) {
      for (const auto& [from, weight] : of_pixel) {
        taps.push_back({from, static_cast<float>(weight)});
      }
      begins.push_back(taps.size());
    }
  }
  std::span<const Tap> of(std::int64_t pixel) const {
    const std::size_t begin = begins[at(pixel)];
    return std::span(taps).subspan(begin, begins[at(pixel) + 1] - begin);
  }
};

class Resize : public PreparedKernel {
 public:
  explicit Resize(const OpCall& call) : Resize(call, resizing_of(call)) {}

  void run(const KernelBuffers& buffers) noexcept override {
    const auto* x = static_cast<const float*>(buffers.inputs[0]);
    auto* y = static_cast<float*>(buffers.outputs[0]);
    constexpr std::int64_t kLeastElements = 4096;
    const std::int64_t row_size = to_[2] * to_[3];
    parallel_for(to_[0] * to_[1], 1 + kLeastElements / row_size,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t row = begin; row < end; ++row) {
                     const std::int64_t image = row / to_[1];
                     make_row(x + image * from_[1] * from_[2] * from_[3],
                              rows_.of(row % to_[1]), y + row * row_size);
                   }
                 });
  }

 private:
  Resize(const OpCall& call, const Resizing& resizing)
      : from_(call.input(0).shape),
        to_(call.outputs[0].shape),
        rows_(resizing.rows),
        columns_(resizing.columns) {}

  void make_row(const float* image, std::span<const FlatTaps::Tap> row_taps,
                float* y) const {
    const Dim channels = to_[3];
    std::fill_n(y, to_[2] * channels, 0.f);
    for (const auto& [row, row_weight] : row_taps) {
      const float* from = image + row * from_[2] * channels;
      for (Dim column = 0; column < to_[2]; ++column) {
        float* pixel = y + column * channels;
        for (const auto& [place, weight] : columns_.of(column)) {
          const float* source = from + place * channels;
          const float factor = row_weight * weight;
          for (Dim c = 0; c < channels; ++c) pixel[c] += factor * source[c];
        }
      }
    }
  }

  Shape from_, to_;
  FlatTaps rows_, columns_;
};

std::optional<std::string> declines(const OpCall& call) {
  if (call.input(0).dtype != DType::kF32) {
    return fmt::format("computes in f32, not in {}",
                       to_string(call.input(0).dtype));
  }
  if (call.outputs[0].shape.num_elements() == 0) return "the result is empty";
  return std::nullopt;
}

}  // namespace

void register_cpu_resize(KernelRegistry& kernels) {
  for (const char* op : {"resize", "resize_gradient"}) {
    kernels.add(
        {.op = op,
         .name = "cpu:resize",
         .rank = 10,
         .declines = declines,
         .prepare = [](const OpCall& call) -> std::unique_ptr<PreparedKernel> {
           return std::make_unique<Resize>(call);
         }});
  }
}

}  // namespace weft
