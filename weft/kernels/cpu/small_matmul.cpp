// Products of small matrices, which stay in a first-level cache: a library
// takes a microsecond to begin, in which all of such a product is done.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/small_matmul.cpp"
#include <algorithm>
#include <hwy/foreach_target.h>
#include <optional>

#include "weft/base/index.h"
#include "weft/base/parallel.h"
#include "weft/kernels/cpu/function_kernel.h"
#include "weft/kernels/cpu/product.h"
#include "weft/kernels/simd/targets.h"
#include "weft/kernels/simd/tile_product.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

// So many multiplications take a thread longer than waking it.
constexpr double kThreadMultiplications = 64 << 10;

// The first row, into all others.
template <class T>
void repeat_row(T* rows, std::size_t count, std::size_t columns) {
  // What is there already is copied, so that most copies are long ones.
  for (std::size_t done = 1; done < count; done *= 2) {
    std::copy_n(rows, std::min(done, count - done) * columns,
                rows + done * columns);
  }
}

// y = a b + bias of one matrix each; `bias` may be null. `rows_of_b` has room
// for a transposed b, whose rows must lie side by side.
template <class T>
void multiply(const Product& p, const T* a, const T* b, const T* bias,
              T* rows_of_b, T* y) {
  const std::size_t m = at(p.m());
  const std::size_t n = at(p.n());
  const std::size_t k = at(p.k());
  if (p.transpose_b) {
    for (std::size_t c = 0; c < n; ++c) {
      for (std::size_t i = 0; i < k; ++i) rows_of_b[i * n + c] = b[c * k + i];
    }
    b = rows_of_b;
  }
  if (bias != nullptr) {
    std::copy_n(bias, n, y);
    repeat_row(y, m, n);
  }
  const simd::LeftTile<T> left{a, p.transpose_a ? 1 : k, p.transpose_a ? m : 1};
  simd::tile_product<T>(m, n, k, left, {b, n}, {y, n}, bias != nullptr);
  if (!p.is_relu) return;
  // The comparison is false for NaN, which so stays.
  for (std::size_t i = 0; i < m * n; ++i) y[i] = y[i] < 0 ? 0 : y[i];
}

template <class T>
std::unique_ptr<PreparedKernel> small_matmul(const OpCall& call) {
  const Product p(call);
  const auto lefts = matrix_offsets(p.a, p.y);
  const auto rights = matrix_offsets(p.b, p.y);
  const auto count = std::ssize(lefts);
  const std::int64_t size_of_b = p.transpose_b ? p.n() * p.k() : 0;
  // Matrices of a stack are handed out in parts, each with room of its own.
  const auto parts = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(static_cast<double>(count) *
                                p.multiplications() / kThreadMultiplications),
      1, std::min<std::int64_t>(thread_count(), count));
  return make_kernel(
      [=](const KernelBuffers& buffers) {
        const auto* a = input_of<T>(buffers, 0);
        const auto* b = input_of<T>(buffers, 1);
        const auto* bias = p.has_bias ? input_of<T>(buffers, 2) : nullptr;
        auto* y = output_of<T>(buffers, 0);
        parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t part = begin; part < end; ++part) {
            auto* room = static_cast<T*>(buffers.scratch) + part * size_of_b;
            const std::int64_t last = count * (part + 1) / parts;
            for (std::int64_t i = count * part / parts; i < last; ++i) {
              multiply(p, a + lefts[at(i)], b + rights[at(i)], bias, room,
                       y + i * p.m() * p.n());
            }
          }
        });
      },
      at(parts * size_of_b) * sizeof(T));
}

std::unique_ptr<PreparedKernel> prepare_small_matmul(const OpCall& call) {
  return call.input(0).dtype == DType::kF64 ? small_matmul<double>(call)
                                            : small_matmul<float>(call);
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {

// Elements of all three: they stay in a first-level cache (a cube of 64 in
// f32).
constexpr Dim kMostElements = 12 << 10;
// The elements of f32 in a vector of AVX-512.
constexpr Dim kVector = 16;
// Any product may take so many steps, in which a library begins.
constexpr Dim kFreeSteps = 512;

// Vectors that are multiplied, and elements that are moved to where a
// transposed operand has rows.
Dim steps(const Product& p) {
  const Dim moves = p.transpose_b ? p.n() * p.k() : 0;
  return p.m() * p.k() * ((p.n() + kVector - 1) / kVector) + moves;
}

std::optional<std::string> small_matmul_declines(const OpCall& call) {
  const DType dtype = call.input(0).dtype;
  if (dtype != DType::kF32 && dtype != DType::kF64) {
    return fmt::format("computes in f32 and f64, not in {}", to_string(dtype));
  }
  const Product product(call);
  if (product.is_empty()) return "an operand is empty";
  const Dim m = product.m();
  const Dim n = product.n();
  const Dim k = product.k();
  if (m * k + k * n + m * n > kMostElements) {
    return fmt::format("takes matrices of up to {} elements together",
                       kMostElements);
  }
  if (steps(product) > kFreeSteps + m * n * k / 4) {
    return "its vectors would be empty for the most part, or moved for little";
  }
  return std::nullopt;
}

}  // namespace

void register_cpu_small_matmul(KernelRegistry& kernels) {
  kernels.add({.op = "matmul",
               .name = "simd:small",
               .rank = 32,
               .declines = small_matmul_declines,
               .prepare = WEFT_FOR_MACHINE(prepare_small_matmul),
               .competes = true});
}

}  // namespace weft
#endif
