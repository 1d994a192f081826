// Products of a few rows, or of a few columns: each element of the large
// operand is read from memory once and used a few times, so that memory is the
// limit, and packing it as BLAS does would cost more than the product.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/few_rows.cpp"
#include <algorithm>
#include <hwy/foreach_target.h>
#include <optional>
#include <type_traits>

#include "weft/base/error.h"
#include "weft/base/index.h"
#include "weft/base/parallel.h"
#include "weft/kernels/cpu/product.h"
#include "weft/kernels/simd/lanes.h"
#include "weft/kernels/simd/streaming.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = simd::hn;

// More rows than these are left to others, which pack.
constexpr std::size_t kMostRows = 16;
// From here on arithmetic is the limit. The libraries' products are as fast
// where rows of the large operand are added up, and faster in bf16.
constexpr std::size_t kMemoryBoundRows = 8;
constexpr Dim kShortDot = 128;

using simd::load;

// y = x w of `rows` rows x, which are few. A product of few columns is this one
// transposed: then x is its right operand, and w its left one.
template <class T>
class FewRows final : public PreparedKernel {
  // bf16 is summed in f32 and rounded once.
  using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
  using Sums = hn::ScalableTag<Sum>;
  static constexpr std::size_t kLanes = hn::MaxLanes(Sums());

 public:
  explicit FewRows(const Product& p)
      : turned_(p.m() > p.n()),
        rows_(at(turned_ ? p.n() : p.m())),
        inner_(at(p.k())),
        columns_(at(turned_ ? p.m() : p.n())),
        // Rows of x that lie across memory are those of a transposed operand,
        // or of one that was turned.
        x_is_across_(turned_ ? !p.transpose_b : p.transpose_a),
        w_has_inner_rows_(turned_ ? p.transpose_a : !p.transpose_b),
        has_bias_(p.has_bias),
        bias_is_f32_(p.bias_is_f32),
        is_relu_(p.is_relu),
        block_(std::max<std::size_t>(
            kLanes, block_bytes() / sizeof(Sum) / rows_ / kLanes * kLanes)) {}

  std::size_t scratch_bytes() const override {
    return is_dense() ? 0 : rows_ * inner_ * sizeof(Sum);
  }

  void run(const KernelBuffers& buffers) noexcept override {
    const Sum* dense = dense_rows(buffers);
    // Each element is summed in one order, wherever threads cut the columns.
    const std::size_t bytes_each = inner_ * sizeof(T) * kLanes;
    WEFT_CHECK(bytes_each > 0);
    const auto grain = static_cast<std::int64_t>(
        std::max<std::size_t>(1, kThreadBytes / bytes_each));
    const std::size_t groups = (columns_ + kLanes - 1) / kLanes;
    parallel_for(
        static_cast<std::int64_t>(groups), grain,
        [&](std::int64_t begin, std::int64_t end) {
          const std::size_t last = std::min(columns_, at(end) * kLanes);
          for (std::size_t c = at(begin) * kLanes; c < last; c += block_) {
            const std::size_t count = std::min(block_, last - c);
            if (w_has_inner_rows_) {
              add_rows(buffers, dense, c, count);
            } else {
              add_dots(buffers, dense, c, count);
            }
          }
        });
  }

 private:
  // The sums of a block of columns stay in half of a first-level cache. Where w
  // comes from memory, longer runs of its rows, which the processor's
  // prefetcher follows, are worth sums in the second-level cache.
  static constexpr std::size_t kBlockBytes = 16 << 10;
  static constexpr std::size_t kMostBlockBytes = 64 << 10;

  std::size_t block_bytes() const {
    const bool is_streamed =
        inner_ * columns_ * sizeof(T) >= least_streamed_bytes();
    return is_streamed && rows_ <= kMemoryBoundRows ? kMostBlockBytes
                                                    : kBlockBytes;
  }
  // Reading so much takes a thread longer than waking it.
  static constexpr std::size_t kThreadBytes = 64 << 10;
  // So many rows of w are read side by side, for each pass over the sums.
  static constexpr std::size_t kStreams = 8;
  // And so many vectors of each, where there are 32 registers: an element of x
  // that is loaded serves them all.
  static constexpr std::size_t kWide = HWY_MAX_BYTES == 64 ? 2 : 1;
  // Dot products that are summed at once: of so many rows of x with so many of
  // w. The rows of x that several threads and columns share come from the
  // second-level cache, so that more columns are worth their registers.
  static constexpr std::size_t kDotRows = 4;
  static constexpr std::size_t kDotColumns = HWY_MAX_BYTES == 64 ? 6 : 3;

  bool is_dense() const { return std::is_same_v<T, Sum> && !x_is_across_; }

  // x is small, and read again for every column: so it is laid out densely
  // once, and widened to the type of the sums.
  const Sum* dense_rows(const KernelBuffers& buffers) const noexcept {
    const void* operand = buffers.inputs[turned_ ? 1 : 0];
    if (is_dense()) return static_cast<const Sum*>(operand);
    const auto* x = static_cast<const T*>(operand);
    auto* dense = static_cast<Sum*>(buffers.scratch);
    for (std::size_t i = 0; i < rows_; ++i) {
      for (std::size_t p = 0; p < inner_; ++p) {
        dense[i * inner_ + p] = static_cast<Sum>(
            x_is_across_ ? x[p * rows_ + i] : x[i * inner_ + p]);
      }
    }
    return dense;
  }

  // w is [inner, columns] in memory: its rows are added up, each times an
  // element of x.
  void add_rows(const KernelBuffers& buffers, const Sum* x, std::size_t first,
                std::size_t count) const noexcept {
    // A block has one vector of columns at least, also where so many rows of
    // that exceed the block's bytes.
    alignas(64) Sum sums[kMostBlockBytes / sizeof(Sum) + kMostRows * kLanes];
    std::fill_n(sums, rows_ * count, Sum(0));
    const T* w = operand(buffers) + first;
    std::size_t p = 0;
    for (; p + kStreams <= inner_; p += kStreams) {
      add_streams<kStreams>(x + p, w + p * columns_, count, sums);
    }
    for (; p < inner_; ++p) {
      add_streams<1>(x + p, w + p * columns_, count, sums);
    }
    for (std::size_t i = 0; i < rows_; ++i) {
      finish_row(buffers, i, first, count, sums + i * count);
    }
  }

  template <std::size_t kCount>
  void add_streams(const Sum* x, const T* w, std::size_t count,
                   Sum* sums) const noexcept {
    std::size_t c = 0;
    for (; c + kWide * kLanes <= count; c += kWide * kLanes) {
      add_vectors<kCount, kWide>(x, w + c, count, sums + c);
    }
    for (; c + kLanes <= count; c += kLanes) {
      add_vectors<kCount, 1>(x, w + c, count, sums + c);
    }
    for (; c < count; ++c) {
      for (std::size_t i = 0; i < rows_; ++i) {
        Sum sum = sums[i * count + c];
        for (std::size_t s = 0; s < kCount; ++s) {
          sum += x[i * inner_ + s] * static_cast<Sum>(w[s * columns_ + c]);
        }
        sums[i * count + c] = sum;
      }
    }
  }

  // Vectors of w are read once and used for all rows of x.
  template <std::size_t kCount, std::size_t kVectors>
  void add_vectors(const Sum* x, const T* w, std::size_t count,
                   Sum* sums) const noexcept {
    hn::Vec<Sums> read[kCount][kVectors];
    for (std::size_t s = 0; s < kCount; ++s)
      for (std::size_t v = 0; v < kVectors; ++v)
        read[s][v] = load(w + s * columns_ + v * kLanes);
    for (std::size_t i = 0; i < rows_; ++i) {
      hn::Vec<Sums> sum[kVectors];
      for (std::size_t v = 0; v < kVectors; ++v)
        sum[v] = hn::LoadU(Sums(), sums + i * count + v * kLanes);
      for (std::size_t s = 0; s < kCount; ++s) {
        const auto factor = hn::Set(Sums(), x[i * inner_ + s]);
        for (std::size_t v = 0; v < kVectors; ++v)
          sum[v] = hn::MulAdd(factor, read[s][v], sum[v]);
      }
      for (std::size_t v = 0; v < kVectors; ++v)
        hn::StoreU(sum[v], Sums(), sums + i * count + v * kLanes);
    }
  }

  // w is [columns, inner] in memory: each of its rows gives a dot product with
  // each row of x.
  void add_dots(const KernelBuffers& buffers, const Sum* x, std::size_t first,
                std::size_t count) const noexcept {
    alignas(64) Sum sums[kMostBlockBytes / sizeof(Sum) + kMostRows * kLanes];
    const T* w = operand(buffers) + first * inner_;
    std::size_t c = 0;
    for (; c + kDotColumns <= count; c += kDotColumns) {
      dots_of_rows<kDotColumns>(x, w + c * inner_, sums + c, count);
    }
    for (; c < count; ++c) {
      dots_of_rows<1>(x, w + c * inner_, sums + c, count);
    }
    for (std::size_t i = 0; i < rows_; ++i) {
      finish_row(buffers, i, first, count, sums + i * count);
    }
  }

  template <std::size_t kColumns>
  void dots_of_rows(const Sum* x, const T* w, Sum* sums,
                    std::size_t stride) const noexcept {
    std::size_t i = 0;
    for (; i + kDotRows <= rows_; i += kDotRows) {
      dots<kDotRows, kColumns>(x + i * inner_, w, sums + i * stride, stride);
    }
    for (; i + 2 <= rows_; i += 2) {
      dots<2, kColumns>(x + i * inner_, w, sums + i * stride, stride);
    }
    if (i < rows_) {
      dots<1, kColumns>(x + i * inner_, w, sums + i * stride, stride);
    }
  }

  template <std::size_t kRows, std::size_t kColumns>
  void dots(const Sum* x, const T* w, Sum* totals,
            std::size_t stride) const noexcept {
    // These sums stay in registers: each vector of x that is loaded serves as
    // many of them as there are columns, and each of w as there are rows.
    hn::Vec<Sums> sums[kColumns][kRows];
    for (auto& of_column : sums) {
      for (auto& sum : of_column) sum = hn::Zero(Sums());
    }
    std::size_t p = 0;
    for (; p + kLanes <= inner_; p += kLanes) {
      hn::Vec<Sums> left[kRows];
      for (std::size_t i = 0; i < kRows; ++i) {
        left[i] = hn::LoadU(Sums(), x + i * inner_ + p);
      }
      for (std::size_t c = 0; c < kColumns; ++c) {
        const auto right = load(w + c * inner_ + p);
        for (std::size_t i = 0; i < kRows; ++i) {
          sums[c][i] = hn::MulAdd(left[i], right, sums[c][i]);
        }
      }
    }
    // Lanes are added up once for each sum; what fills no vector follows one by
    // one.
    for (std::size_t c = 0; c < kColumns; ++c) {
      Sum column[kRows];
      add_lanes(sums[c], column);
      for (std::size_t i = 0; i < kRows; ++i) {
        for (std::size_t q = p; q < inner_; ++q) {
          column[i] += x[i * inner_ + q] * static_cast<Sum>(w[c * inner_ + q]);
        }
        totals[i * stride + c] = column[i];
      }
    }
  }

  // The sum of the lanes of each vector. Four of floats are added up together:
  // every addition then has lanes of all four to add.
  template <std::size_t kCount>
  static void add_lanes(const hn::Vec<Sums> (&sums)[kCount], Sum* totals) {
    if constexpr (kCount == 4 && std::is_same_v<Sum, float>) {
      const Sums tag;
      const auto both = [&](auto a, auto b) {
        return hn::Add(hn::InterleaveLower(tag, a, b),
                       hn::InterleaveUpper(tag, a, b));
      };
      // Each block of four lanes: a and c, b and d, in turn; then all four.
      const auto blocks = both(both(sums[0], sums[2]), both(sums[1], sums[3]));
      store_block(tag, blocks, totals);
    } else {
      for (std::size_t c = 0; c < kCount; ++c) {
        totals[c] = hn::GetLane(hn::SumOfLanes(Sums(), sums[c]));
      }
    }
  }

  // The sum of all blocks of four lanes.
  template <class Tag>
  static void store_block(Tag tag, hn::Vec<Tag> blocks, float* totals) {
    if constexpr (hn::MaxLanes(tag) <= 4) {
      hn::StoreU(blocks, tag, totals);
    } else {
      const hn::Half<Tag> half;
      store_block(
          half,
          hn::Add(hn::LowerHalf(half, blocks), hn::UpperHalf(half, blocks)),
          totals);
    }
  }

  const T* operand(const KernelBuffers& buffers) const {
    return static_cast<const T*>(buffers.inputs[turned_ ? 0 : 1]);
  }

  // finish() for some columns of a row, side by side in the result.
  void finish_row(const KernelBuffers& buffers, std::size_t row,
                  std::size_t first, std::size_t count,
                  const Sum* sums) const noexcept {
    std::size_t c = 0;
    if (!turned_) {
      T* y = static_cast<T*>(buffers.outputs[0]) + row * columns_ + first;
      const auto zero = hn::Zero(Sums());
      for (; c + kLanes <= count; c += kLanes) {
        auto sum = hn::LoadU(Sums(), sums + c);
        if (has_bias_) sum = hn::Add(sum, biases(buffers, first + c));
        if (is_relu_) sum = hn::IfThenElse(hn::Lt(sum, zero), zero, sum);
        simd::store(sum, y + c);
      }
    }
    for (; c < count; ++c) finish(buffers, row, first + c, sums[c]);
  }

  hn::Vec<Sums> biases(const KernelBuffers& buffers,
                       std::size_t column) const noexcept {
    const void* bias = buffers.inputs[2];
    if constexpr (std::is_same_v<T, bfloat16>) {
      if (bias_is_f32_) return load(static_cast<const float*>(bias) + column);
    }
    return load(static_cast<const T*>(bias) + column);
  }

  // "+ bias, then relu", into the result.
  void finish(const KernelBuffers& buffers, std::size_t row, std::size_t column,
              Sum sum) const noexcept {
    if (has_bias_) {
      const void* bias = buffers.inputs[2];
      const std::size_t i = turned_ ? row : column;
      sum += bias_is_f32_ ? static_cast<Sum>(static_cast<const float*>(bias)[i])
                          : static_cast<Sum>(static_cast<const T*>(bias)[i]);
    }
    // The comparison is false for NaN, which so stays.
    if (is_relu_ && sum < 0) sum = 0;
    static_cast<T*>(buffers.outputs[0])[turned_ ? column * rows_ + row
                                                : row * columns_ + column] =
        T(sum);
  }

  bool turned_;
  std::size_t rows_, inner_, columns_;
  bool x_is_across_, w_has_inner_rows_;
  bool has_bias_, bias_is_f32_, is_relu_;
  std::size_t block_;  // columns
};

std::optional<std::string> few_rows_declines(const OpCall& call) {
  const DType dtype = call.input(0).dtype;
  if (dtype != DType::kF32 && dtype != DType::kF64 && dtype != DType::kBF16) {
    return fmt::format("computes in f32, f64 and bf16, not in {}",
                       to_string(dtype));
  }
  const Product product(call);
  if (product.is_empty()) return "an operand is empty";
  if (!product.is_plain()) return "multiplies two matrices, not batches";
  if (at(std::min(product.m(), product.n())) > kMostRows) {
    return fmt::format("takes up to {} rows or columns", kMostRows);
  }
  return std::nullopt;
}

std::optional<std::string> few_rows_yields(const OpCall& call) {
  const Product product(call);
  // Adding up the lanes of each dot product costs as much as 8 of its steps.
  const bool is_turned = product.m() > product.n();
  const bool has_dots = is_turned ? !product.transpose_a : product.transpose_b;
  if (has_dots && product.k() < kShortDot) {
    return fmt::format("has dot products shorter than {}", kShortDot);
  }
  const DType dtype = call.input(0).dtype;
  const bool is_surpassed =
      dtype == DType::kBF16 || (dtype == DType::kF32 && !has_dots);
  if (is_surpassed &&
      at(std::min(product.m(), product.n())) > kMemoryBoundRows) {
    return fmt::format("surpasses the libraries up to {} rows",
                       kMemoryBoundRows);
  }
  return std::nullopt;
}

void add_kernels(KernelRegistry& kernels) {
  kernels.add(
      {.op = "matmul",
       .name = "simd:few_rows",
       .rank = 30,
       .declines = few_rows_declines,
       .prepare = [](const OpCall& call) -> std::unique_ptr<PreparedKernel> {
         const Product product(call);
         switch (call.input(0).dtype) {
           case DType::kF64:
             return std::make_unique<FewRows<double>>(product);
           case DType::kBF16:
             return std::make_unique<FewRows<bfloat16>>(product);
           default:
             return std::make_unique<FewRows<float>>(product);
         }
       },
       .competes = true,
       .yields = few_rows_yields});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_cpu_few_rows(KernelRegistry& kernels) {
  WEFT_FOR_MACHINE(add_kernels)(kernels);
}

}  // namespace weft
#endif
