// Matrix products by OpenBLAS: those of f64, which oneDNN has not, and those of
// f32 where it is the faster one.
#include <algorithm>
#include <optional>
#include <vector>

#include "weft/base/cpu.h"
#include "weft/base/index.h"
#include "weft/base/parallel.h"
#include "weft/kernels/cpu/blas.h"
#include "weft/kernels/cpu/function_kernel.h"
#include "weft/kernels/cpu/product.h"
#include "weft/ops/support/elementwise.h"

namespace weft {
namespace {

// Which matrix of an operand each matrix of the result is made from: stacks
// broadcast as elements do.
std::vector<std::int64_t> matrix_offsets(const TensorType& operand,
                                         const TensorType& result) {
  const Shape& own = operand.shape;
  const Shape stack(result.shape.first(result.shape.rank() - 2));
  const BroadcastIndex index(Shape(own.first(own.rank() - 2)), stack);
  const std::int64_t size = own.back() * own[own.rank() - 2];
  std::vector<std::int64_t> offsets(at(stack.num_elements()));
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    offsets[i] = index(static_cast<std::int64_t>(i)) * size;
  }
  return offsets;
}

template <class T>
class BlasProduct final : public PreparedKernel {
 public:
  explicit BlasProduct(const Product& product)
      : p_(product),
        a_offsets_(matrix_offsets(product.a, product.y)),
        b_offsets_(matrix_offsets(product.b, product.y)) {}

  void run(const KernelBuffers& buffers) noexcept override {
    const auto count = static_cast<std::int64_t>(a_offsets_.size());
    const auto multiply = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) multiply_one(buffers, at(i));
    };
    // BLAS shares out a large product itself; small ones are shared out here.
    constexpr double kLarge = 1 << 24;
    const auto size = static_cast<double>(p_.m()) *
                      static_cast<double>(p_.n()) * static_cast<double>(p_.k());
    if (count == 1 || size >= kLarge) {
      multiply(0, count);
    } else {
      parallel_for(count, 1, multiply);
    }
    if (p_.has_bias || p_.is_relu) finish(buffers);
  }

  std::string implementation() const override {
    return openblas_get_corename();
  }

 private:
  void multiply_one(const KernelBuffers& buffers,
                    std::size_t i) const noexcept {
    const T* a = input_of<T>(buffers, 0) + a_offsets_[i];
    const T* b = input_of<T>(buffers, 1) + b_offsets_[i];
    T* y = output_of<T>(buffers, 0) +
           static_cast<std::int64_t>(i) * p_.m() * p_.n();
    blas_product<T>(p_.m(), p_.n(), p_.k(), {a, p_.a_stride(), p_.transpose_a},
                    {b, p_.b_stride(), p_.transpose_b}, T(0), y, p_.n());
  }

  // "+ bias, then relu".
  void finish(const KernelBuffers& buffers) const noexcept {
    const T* bias = p_.has_bias ? input_of<T>(buffers, 2) : nullptr;
    T* y = output_of<T>(buffers, 0);
    const std::int64_t n = p_.n();
    constexpr std::int64_t kLeast = 16 << 10;
    parallel_for(p_.y.shape.num_elements() / n, std::max<Dim>(1, kLeast / n),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t row = begin; row < end; ++row) {
                     T* values = y + row * n;
                     for (std::int64_t i = 0; i < n; ++i) {
                       T value = values[i];
                       if (bias != nullptr) value += bias[i];
                       // The comparison is false for NaN, which so stays.
                       if (p_.is_relu && value < 0) value = 0;
                       values[i] = value;
                     }
                   }
                 });
  }

  Product p_;
  std::vector<std::int64_t> a_offsets_, b_offsets_;
};

std::optional<std::string> blas_declines(const OpCall& call) {
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
  if (std::max({product.m(), product.n(), product.k()}) > kMostOfBlas) {
    return "a matrix has too many rows or columns";
  }
  return std::nullopt;
}

}  // namespace

void register_cpu_blas_matmul(KernelRegistry& kernels) {
  kernels.add(
      {.op = "matmul",
       .name = "openblas:gemm",
       .rank = 5,
       .declines = blas_declines,
       .prepare = [](const OpCall& call) -> std::unique_ptr<PreparedKernel> {
         if (call.input(0).dtype == DType::kF64) {
           return std::make_unique<BlasProduct<double>>(Product(call));
         }
         return std::make_unique<BlasProduct<float>>(Product(call));
       }});
}

}  // namespace weft
