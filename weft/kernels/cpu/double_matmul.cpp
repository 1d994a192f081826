// Products of matrices of f64 by BLAS, as oneDNN multiplies no doubles.
#include <algorithm>
#include <cblas.h>
#include <limits>
#include <optional>

#include "weft/base/parallel.h"
#include "weft/graph/kernel.h"
#include "weft/ops/support/product.h"

namespace weft {
namespace {

class DoubleMatmul : public PreparedKernel {
 public:
  explicit DoubleMatmul(const OpCall& call)
      : size_(call),
        transpose_a_(call.attributes.flag("transpose_a")),
        transpose_b_(call.attributes.flag("transpose_b")),
        has_bias_(call.has_input(2)),
        is_relu_(call.attributes.text("activation") == "relu") {
    const Shape batch = batch_shape(call);
    const BroadcastIndex left(leading(call.input(0)), batch);
    const BroadcastIndex right(leading(call.input(1)), batch);
    count_ = batch.num_elements();
    if (call.input(1).shape.rank() == 2 && !transpose_a_) {
      // Rows against one matrix are a single product of more rows.
      size_.m *= count_;
      count_ = 1;
    }
    for (std::int64_t i = 0; i < count_; ++i) {
      pairs_.push_back(
          {left(i) * size_.m * size_.k, right(i) * size_.k * size_.n});
    }
  }

  void run(const KernelBuffers& buffers) noexcept override {
    const auto* a = static_cast<const double*>(buffers.inputs[0]);
    const auto* b = static_cast<const double*>(buffers.inputs[1]);
    auto* y = static_cast<double*>(buffers.outputs[0]);
    const auto m = static_cast<int>(size_.m);
    const auto k = static_cast<int>(size_.k);
    const auto n = static_cast<int>(size_.n);
    std::int64_t begin = 0;
    for (const Pair& pair : pairs_) {
      cblas_dgemm(CblasRowMajor, transpose_a_ ? CblasTrans : CblasNoTrans,
                  transpose_b_ ? CblasTrans : CblasNoTrans, m, n, k, 1.0,
                  a + pair.a, transpose_a_ ? m : k, b + pair.b,
                  transpose_b_ ? k : n, 0.0, y + begin, n);
      begin += size_.m * size_.n;
    }
    if (has_bias_ || is_relu_) {
      finish(
          static_cast<const double*>(has_bias_ ? buffers.inputs[2] : nullptr),
          y);
    }
  }

 private:
  struct Pair {
    std::int64_t a, b;  // where the operands of a product begin
  };

  static Shape leading(const TensorType& type) {
    return Shape(type.shape.first(type.shape.rank() - 2));
  }

  void finish(const double* bias, double* y) const noexcept {
    const std::int64_t least = 1 + kElementsPerThread / size_.n;
    parallel_for(count_ * size_.m, least,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t row = begin; row < end; ++row) {
                     double* values = y + row * size_.n;
                     for (std::int64_t i = 0; i < size_.n; ++i) {
                       const double sum =
                           bias != nullptr ? values[i] + bias[i] : values[i];
                       // The comparison is false for NaN, which so stays.
                       values[i] = is_relu_ && sum < 0 ? 0 : sum;
                     }
                   }
                 });
  }

  static constexpr std::int64_t kElementsPerThread = 16 << 10;

  Extents size_;
  bool transpose_a_, transpose_b_, has_bias_, is_relu_;
  std::int64_t count_ = 1;
  std::vector<Pair> pairs_;
};

std::optional<std::string> declines(const OpCall& call) {
  for (const TensorType& type : call.inputs) {
    if (type.dtype != DType::kF64) return "computes in f64 only";
    if (type.shape.num_elements() == 0) return "an operand is empty";
  }
  // BLAS counts with 32 bits here; rows of a stack may be counted together.
  constexpr Dim kMost = std::numeric_limits<int>::max();
  const Extents size(call);
  const Dim rows = call.outputs[0].shape.num_elements() / size.n;
  if (std::max({rows, size.m, size.k, size.n}) > kMost) {
    return "a dim passes 2^31";
  }
  return std::nullopt;
}

}  // namespace

void register_cpu_double_matmul(KernelRegistry& kernels) {
  kernels.add(
      {.op = "matmul",
       .name = "blas:dgemm",
       .rank = 10,
       .declines = declines,
       .prepare = [](const OpCall& call) -> std::unique_ptr<PreparedKernel> {
         return std::make_unique<DoubleMatmul>(call);
       }});
}

}  // namespace weft
