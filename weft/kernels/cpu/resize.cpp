// Images of another size, and the transpose: each row is a weighted sum of
// rows, and each of its pixels one of that row's pixels. Places and weights are
// settled beforehand. Channels lie side by side, so that all sums are of
// vectors.
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

  // A row between the two sums, for each worker.
  std::size_t scratch_bytes() const override {
    return at(workers_ * from_row()) * sizeof(float);
  }

  void run(const KernelBuffers& buffers) noexcept override {
    const auto* x = static_cast<const float*>(buffers.inputs[0]);
    auto* y = static_cast<float*>(buffers.outputs[0]);
    const std::int64_t rows = to_[0] * to_[1];
    parallel_for(workers_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t worker = begin; worker < end; ++worker) {
        float* between =
            static_cast<float*>(buffers.scratch) + worker * from_row();
        for (std::int64_t row = rows * worker / workers_;
             row < rows * (worker + 1) / workers_; ++row) {
          const float* image = x + row / to_[1] * from_[1] * from_row();
          make_row(sum_of_rows(image, rows_.of(row % to_[1]), between),
                   y + row * to_[2] * to_[3]);
        }
      }
    });
  }

 private:
  Resize(const OpCall& call, const Resizing& resizing)
      : from_(call.input(0).shape),
        to_(call.outputs[0].shape),
        rows_(resizing.rows),
        columns_(resizing.columns) {
    // A thread costs about as much as computing so many elements.
    constexpr std::int64_t kLeastElements = 4096;
    workers_ = std::clamp<std::int64_t>(
        std::min(to_.num_elements() / kLeastElements, to_[0] * to_[1]), 1,
        thread_count());
  }

  using Taps = std::span<const FlatTaps::Tap>;

  std::int64_t from_row() const { return from_[2] * from_[3]; }

  // y = Σ weight x[from], each of `size` numbers.
  static void weighted_sum(const float* x, Taps taps, std::int64_t size,
                           float* y) {
    if (taps.size() == 2) {  // as most are
      const float* a = x + taps[0].from * size;
      const float* b = x + taps[1].from * size;
      const float first = taps[0].weight;
      const float second = taps[1].weight;
#pragma omp simd
      for (std::int64_t i = 0; i < size; ++i)
        y[i] = first * a[i] + second * b[i];
      return;
    }
    if (taps.empty()) return static_cast<void>(std::fill_n(y, size, 0.f));
    const float* nearest = x + taps[0].from * size;
    const float only = taps[0].weight;
#pragma omp simd
    for (std::int64_t i = 0; i < size; ++i) y[i] = only * nearest[i];
    for (const FlatTaps::Tap& tap : taps.subspan(1)) {
      // clang 16 crashes on a binding within the loop.
      const float* source = x + tap.from * size;
      const float weight = tap.weight;
#pragma omp simd
      for (std::int64_t i = 0; i < size; ++i) y[i] += weight * source[i];
    }
  }

  // The sum lies in `between`, or where the only row does.
  const float* sum_of_rows(const float* image, Taps taps,
                           float* between) const {
    // A row that is taken as it is need not be copied.
    if (taps.size() == 1 && taps[0].weight == 1) {
      return image + taps[0].from * from_row();
    }
    weighted_sum(image, taps, from_row(), between);
    return between;
  }

  void make_row(const float* row, float* y) const {
    for (Dim column = 0; column < to_[2]; ++column) {
      weighted_sum(row, columns_.of(column), to_[3], y + column * to_[3]);
    }
  }

  Shape from_, to_;
  FlatTaps rows_, columns_;
  std::int64_t workers_ = 1;
};

std::optional<std::string> resize_declines(const OpCall& call) {
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
         .declines = resize_declines,
         .prepare = [](const OpCall& call) -> std::unique_ptr<PreparedKernel> {
           return std::make_unique<Resize>(call);
         }});
  }
}

}  // namespace weft
