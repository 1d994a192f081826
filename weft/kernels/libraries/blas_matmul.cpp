// Matrix products by two libraries of BLAS: oneDNN's for f32, which packs its
// operands in blocks that fit the caches; and OpenBLAS for f64, which oneDNN
// has not, and for f32 where it is the faster one.
#include <algorithm>
#include <optional>
#include <vector>

#include "weft/base/cpu.h"
#include "weft/base/index.h"
#include "weft/base/parallel.h"
#include "weft/kernels/cpu/function_kernel.h"
#include "weft/kernels/cpu/product.h"
#include "weft/kernels/cpu/tail.h"
#include "weft/kernels/libraries/blas.h"
#include "weft/kernels/onednn/gemm.h"
#include "weft/kernels/onednn/version.h"

namespace weft {
namespace {

// The first `rows` of c = a b, with the strides of `p`.
struct OnednnBlas {
  // What it shares out well itself, in multiplications.
  static constexpr double kLarge = 1 << 24;
  static void multiply(const Product& p, Dim rows, const float* a,
                       const float* b, float* c) {
    onednn::gemm(rows, p.n(), p.k(), {a, p.a_stride(), p.transpose_a},
                 {b, p.b_stride(), p.transpose_b}, 0.f, c, p.n());
  }
  static std::string name() { return ""; }
};
struct OpenBlas {
  // Its threads wait for each other between the parts of a product.
  static constexpr double kLarge = 1 << 26;
  template <class T>
  static void multiply(const Product& p, Dim rows, const T* a, const T* b,
                       T* c) {
    blas_product<T>(rows, p.n(), p.k(), {a, p.a_stride(), p.transpose_a},
                    {b, p.b_stride(), p.transpose_b}, T(0), c, p.n());
  }
  // The processor that it takes this one for: "Zen", "SkylakeX".
  static std::string name() { return openblas_get_corename(); }
};

template <class T, class Blas>
class BlasProduct final : public PreparedKernel {
 public:
  explicit BlasProduct(const Product& product)
      : p_(product),
        a_offsets_(matrix_offsets(product.a, product.y)),
        b_offsets_(matrix_offsets(product.b, product.y)) {}

  void run(const KernelBuffers& buffers) noexcept override {
    const auto count = static_cast<std::int64_t>(a_offsets_.size());
    const T* a = input_of<T>(buffers, 0);
    const T* b = input_of<T>(buffers, 1);
    T* c = output_of<T>(buffers, 0);
    const auto multiply = [&](std::int64_t i, Dim first, Dim rows) {
      const std::int64_t step = p_.transpose_a ? 1 : p_.a_stride();
      Blas::multiply(p_, rows, a + a_offsets_[at(i)] + first * step,
                     b + b_offsets_[at(i)], c + (i * p_.m() + first) * p_.n());
    };
    // BLAS shares out a large product itself, and packs an operand once for all
    // threads; smaller ones are shared out here. A part of one is still no
    // small matrix for OpenBLAS, whose sums have another order there.
    constexpr double kLeastOfProduct = 1 << 21;
    // Each thread packs the right operand, which pays for so many rows.
    constexpr Dim kLeastRows = 64;
    const auto least_rows = std::max(
        kLeastRows, static_cast<Dim>(kLeastOfProduct /
                                     static_cast<double>(p_.n() * p_.k())));
    if (p_.multiplications() >= Blas::kLarge) {
      for (std::int64_t i = 0; i < count; ++i) multiply(i, 0, p_.m());
    } else if (count > 1) {
      parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) multiply(i, 0, p_.m());
      });
    } else if (p_.m() >= least_rows * thread_count()) {
      parallel_for(p_.m(), least_rows,
                   [&](std::int64_t begin, std::int64_t end) {
                     multiply(0, begin, end - begin);
                   });
    } else {
      multiply(0, 0, p_.m());
    }
    // BLAS knows no bias and no activation: they take a pass of their own.
    add_tail(p_.y.shape.num_elements() / p_.n(), p_.n(),
             p_.has_bias ? input_of<T>(buffers, 2) : nullptr, p_.is_relu,
             output_of<T>(buffers, 0));
  }

  std::string implementation() const override { return Blas::name(); }

 private:
  Product p_;
  std::vector<std::int64_t> a_offsets_, b_offsets_;
};

std::optional<std::string> onednn_declines(const OpCall& call) {
  if (call.input(0).dtype != DType::kF32) return "computes in f32 only";
  if (Product(call).is_empty()) return "an operand is empty";
  return std::nullopt;
}

// It has kernels for few rows, as the nodes of a tree at one depth are; and
// packing pays once a row of the result, or everything, outgrows the caches.
std::optional<std::string> onednn_yields(const OpCall& call) {
  constexpr Dim kWideRow = 4096;
  constexpr Dim kFewRows = 64;
  constexpr double kLarge = 1 << 27;
  const Product product(call);
  if (!product.is_plain()) return "pays for two matrices, not for stacks";
  if (product.multiplications() >= kLarge) return std::nullopt;
  // Less is over so soon that another pass over the result would show.
  if (product.has_bias || product.is_relu) return "fuses no bias or relu";
  if (product.n() >= kWideRow || product.m() <= kFewRows) return std::nullopt;
  return fmt::format("pays for up to {} rows, rows of {} on, or much of both",
                     kFewRows, kWideRow);
}

std::optional<std::string> openblas_declines(const OpCall& call) {
  const DType dtype = call.input(0).dtype;
  if (dtype != DType::kF32 && dtype != DType::kF64) {
    return fmt::format("computes in f32 and f64, not in {}", to_string(dtype));
  }
  // In f64 there is no other one.
  if (dtype == DType::kF32 && instruction_cap()) {
    return "OpenBLAS does not obey WEFT_CPU";
  }
  const Product product(call);
  if (product.is_empty()) return "an operand is empty";
  // BLAS counts in 32 bits.
  if (std::max({product.m(), product.n(), product.k()}) > kMostOfBlas) {
    return "a matrix has too many rows or columns";
  }
  return std::nullopt;
}

template <class Blas>
std::unique_ptr<PreparedKernel> prepare_f32(const OpCall& call) {
  return std::make_unique<BlasProduct<float, Blas>>(Product(call));
}

std::unique_ptr<PreparedKernel> prepare_openblas(const OpCall& call) {
  if (call.input(0).dtype == DType::kF32) return prepare_f32<OpenBlas>(call);
  return std::make_unique<BlasProduct<double, OpenBlas>>(Product(call));
}

}  // namespace

std::string kernel_libraries() {
  // It begins with "OpenBLAS 0.3.21 " and goes on with how it was built.
  const std::string openblas = openblas_get_config();
  const std::size_t name_end = openblas.find(' ');
  return fmt::format("oneDNN {}, {}", onednn::version(),
                     openblas.substr(0, openblas.find(' ', name_end + 1)));
}

void register_library_blas_matmul(KernelRegistry& kernels) {
  kernels.add({.op = "matmul",
               .name = "onednn:gemm",
               .rank = 20,
               .declines = onednn_declines,
               .prepare = prepare_f32<OnednnBlas>,
               .competes = true,
               .yields = onednn_yields});
  kernels.add({.op = "matmul",
               .name = "openblas:gemm",
               .rank = 5,
               .declines = openblas_declines,
               .prepare = prepare_openblas,
               .competes = true});
}

}  // namespace weft
