// Products of a few rows with a matrix that never changes, which is packed
// once: panels of columns, each one stream of memory. Each element is used so
// few times that reading it is the limit, and what reads ahead follows one
// stream better than the many rows of a matrix as it lies (few_rows.cpp).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/packed_rows.cpp"
#include <algorithm>
#include <hwy/foreach_target.h>
#include <optional>

#include "weft/base/index.h"
#include "weft/base/parallel.h"
#include "weft/graph/shared_packing.h"
#include "weft/kernels/cpu/product.h"
#include "weft/kernels/simd/lanes.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = simd::hn;
using simd::broadcast;
using simd::kLanes;
using simd::Vector;

// Columns of a panel, in vectors, and rows whose sums are in registers with
// them.
constexpr std::size_t kVectors = 4;
constexpr std::size_t kColumns = kVectors * kLanes;
constexpr std::size_t kRows = kLanes >= 16 ? 4 : 2;
// One row has so few sums that additions would wait for each other: it has two
// sets of them, for every other element.
constexpr std::size_t kChains = 2;
// Reading so much takes a thread longer than waking it.
constexpr std::size_t kThreadBytes = 64 << 10;

class PackedRows final : public PreparedKernel {
 public:
  PackedRows(const Product& p, const Tensor& weights)
      : rows_(at(p.m())),
        inner_(at(p.k())),
        columns_(at(p.n())),
        has_bias_(p.has_bias),
        is_relu_(p.is_relu),
        panels_((columns_ + kColumns - 1) / kColumns),
        packed_(shared_packing(
            weights,
            fmt::format("columns {} {} {} {}", kColumns, inner_, columns_,
                        p.transpose_b ? "transposed" : ""),
            [&] { return pack(weights, p.transpose_b); })) {}

  void run(const KernelBuffers& buffers) noexcept override {
    const std::size_t bytes = inner_ * kColumns * sizeof(float);
    const auto grain =
        static_cast<std::int64_t>(1 + (kThreadBytes - 1) / bytes);
    parallel_for(static_cast<std::int64_t>(panels_), grain,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     multiply(buffers, at(i));
                   }
                 });
  }

 private:
  void multiply(const KernelBuffers& buffers,
                std::size_t panel) const noexcept {
    // Sums of all rows at once read the panel once, as far as registers go.
    std::size_t row = 0;
    for (; row + kRows <= rows_; row += kRows) {
      sums<kRows, 1>(buffers, panel, row);
    }
    switch (rows_ - row) {
      case 3:
        return sums<3, 1>(buffers, panel, row);
      case 2:
        return sums<2, 1>(buffers, panel, row);
      case 1:
        return sums<1, kChains>(buffers, panel, row);
      default:
        return;
    }
  }

  template <std::size_t kCount, std::size_t kSets>
  void sums(const KernelBuffers& buffers, std::size_t panel,
            std::size_t row) const noexcept {
    const auto* x = static_cast<const float*>(buffers.inputs[0]) + row * inner_;
    const float* w = packed_->data<float>() + panel * inner_ * kColumns;
    Vector sum[kSets][kCount][kVectors];
    for (auto& of_set : sum) {
      for (auto& of_row : of_set) {
        for (Vector& each : of_row) each = broadcast(0.f);
      }
    }
    const auto add = [&](std::size_t set, std::size_t k) HWY_ATTR {
      for (std::size_t v = 0; v < kVectors; ++v) {
        const Vector column = simd::load(w + k * kColumns + v * kLanes);
        for (std::size_t i = 0; i < kCount; ++i) {
          sum[set][i][v] =
              hn::MulAdd(broadcast(x[i * inner_ + k]), column, sum[set][i][v]);
        }
      }
    };
    std::size_t k = 0;
    for (; k + kSets <= inner_; k += kSets) {
      for (std::size_t set = 0; set < kSets; ++set) add(set, k + set);
    }
    for (; k < inner_; ++k) add(0, k);
    for (std::size_t i = 0; i < kCount; ++i) {
      for (std::size_t v = 0; v < kVectors; ++v) {
        Vector total = sum[0][i][v];
        for (std::size_t set = 1; set < kSets; ++set) {
          total = hn::Add(total, sum[set][i][v]);
        }
        finish(buffers, row + i, panel * kColumns + v * kLanes, total);
      }
    }
  }

  // Columns that are missing in the last panel are 0.
  Tensor pack(const Tensor& weights, bool transpose) const {
    Tensor packed = Tensor::zeros(
        {DType::kF32, {static_cast<Dim>(panels_ * inner_ * kColumns)}});
    const auto* w = weights.data<float>();
    for (std::size_t c = 0; c < columns_; ++c) {
      float* panel = packed.data<float>() + c / kColumns * inner_ * kColumns +
                     c % kColumns;
      for (std::size_t k = 0; k < inner_; ++k) {
        panel[k * kColumns] =
            transpose ? w[c * inner_ + k] : w[k * columns_ + c];
      }
    }
    return packed;
  }

  // "+ bias, then relu", into the columns that there are.
  void finish(const KernelBuffers& buffers, std::size_t row, std::size_t column,
              Vector sum) const noexcept {
    if (column >= columns_) return;
    const std::size_t count = columns_ - column;
    auto* y = static_cast<float*>(buffers.outputs[0]) + row * columns_ + column;
    const float* bias = nullptr;
    if (has_bias_) {
      bias = static_cast<const float*>(buffers.inputs[2]) + column;
    }
    if (count >= kLanes) {
      finish(simd::AllLanes<float>(), bias, sum, y);
    } else {
      finish(simd::SomeLanes<float>{count}, bias, sum, y);
    }
  }
  template <class Lanes>
  void finish(const Lanes& lanes, const float* bias, Vector sum,
              float* y) const noexcept {
    if (bias != nullptr) sum = hn::Add(sum, lanes.load(bias));
    const Vector zero = broadcast(0.f);
    // The comparison is false for NaN, which so stays.
    if (is_relu_) sum = hn::IfThenElse(hn::Lt(sum, zero), zero, sum);
    lanes.store(sum, y);
  }

  std::size_t rows_, inner_, columns_;
  bool has_bias_, is_relu_;
  std::size_t panels_;
  std::shared_ptr<const Tensor> packed_;
};

std::unique_ptr<PreparedKernel> prepare_packed_rows(const OpCall& call) {
  return std::make_unique<PackedRows>(Product(call), *call.known_input(1));
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {

// From more rows on, libraries are limited by arithmetic.
constexpr Dim kMostRows = 4;

std::optional<std::string> packed_rows_declines(const OpCall& call) {
  for (const TensorType& type : call.inputs) {
    if (type.dtype != DType::kF32) {
      return fmt::format("computes in f32, not in {}", to_string(type.dtype));
    }
  }
  if (call.known_input(1) == nullptr) return "packs weights that never change";
  const Product product(call);
  if (product.is_empty()) return "an operand is empty";
  if (!product.is_plain() || product.b.shape.rank() != 2) {
    return "multiplies two matrices, not batches";
  }
  if (product.transpose_a) return "reads rows that lie side by side";
  if (product.m() > kMostRows) {
    return fmt::format("takes up to {} rows", kMostRows);
  }
  return std::nullopt;
}

}  // namespace

void register_cpu_packed_rows(KernelRegistry& kernels) {
  kernels.add({.op = "matmul",
               .name = "simd:packed_rows",
               .rank = 31,
               .declines = packed_rows_declines,
               .prepare = WEFT_FOR_MACHINE(prepare_packed_rows),
               .competes = true});
}

}  // namespace weft
#endif
