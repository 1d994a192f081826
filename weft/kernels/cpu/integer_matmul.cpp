// Products of matrices of small integers, by numbers widened to i16.
#include "weft/ops/support/product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/integer_matmul.cpp"
#include <hwy/foreach_target.h>

#include "weft/kernels/cpu/widening_kernel.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

template <class T>
class WideningMatmul : public WideningKernel {
 public:
  explicit WideningMatmul(const OpCall& call)
      : WideningKernel(sizes(call), products_of(call), rights_of(call)) {
    const Extents extents(call);
    const bool is_transposed = call.attributes.flag("transpose_a");
    // A transposed operand is read along its columns; widening has to touch
    // each number anyway.
    row_ = is_transposed ? 1 : extents.k;
    step_ = is_transposed ? extents.m : 1;
    const Shape batch = batch_shape(call);
    const BroadcastIndex left(leading(call.input(0).shape), batch);
    for (std::int64_t i = 0; i < batch.num_elements(); ++i) {
      lefts_.push_back(left(i) * extents.m * extents.k);
    }
  }

 protected:
  void rows(const void* a, std::int64_t product, std::int64_t row,
            std::int64_t count, std::int16_t* to) const noexcept override {
    const T* from = static_cast<const T*>(a) +
                    lefts_[static_cast<std::size_t>(product)] + row * row_;
    for (std::int64_t i = 0; i < count; ++i) {
      std::int16_t* wide = to + i * row_size();
      widen(from + i * row_, step_, size().k, wide);
      // The product takes whole vectors: zeros behind the row add nothing.
      std::fill(wide + size().k, wide + row_size(), std::int16_t{0});
    }
  }

 private:
  static Shape leading(const Shape& shape) {
    return Shape(shape.first(shape.rank() - 2));
  }
  static Sizes sizes(const OpCall& call) {
    const Extents extents(call);
    return {extents.m, extents.k, extents.n, extents.n};
  }
  static std::vector<Product> products_of(const OpCall& call) {
    const Extents extents(call);
    const Shape batch = batch_shape(call);
    const BroadcastIndex right(leading(call.input(1).shape), batch);
    std::vector<Product> products;
    for (std::int64_t i = 0; i < batch.num_elements(); ++i) {
      products.push_back(
          // A right matrix that is broadcast is one for many products, and is
          // packed once.
          {static_cast<std::size_t>(right(i)), i * extents.m * extents.n});
    }
    return products;
  }
  static std::vector<Right> rights_of(const OpCall& call) {
    const Extents extents(call);
    const bool is_transposed = call.attributes.flag("transpose_b");
    const std::int64_t count = leading(call.input(1).shape).num_elements();
    std::vector<Right> rights;
    for (std::int64_t i = 0; i < count; ++i) {
      rights.push_back({i * extents.k * extents.n,
                        is_transposed ? 1 : extents.n,
                        is_transposed ? extents.k : 1});
    }
    return rights;
  }

  std::vector<std::int64_t> lefts_;  // by product: where its left one begins
  std::int64_t row_, step_;
};

std::unique_ptr<PreparedKernel> prepare_widening(const OpCall& call) {
  if (call.input(0).dtype == DType::kI8) {
    return std::make_unique<WideningMatmul<std::int8_t>>(call);
  }
  return std::make_unique<WideningMatmul<std::uint8_t>>(call);
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {

std::optional<std::string> integer_matmul_declines(const OpCall& call) {
  if (call.outputs[0].shape.num_elements() == 0 || Extents(call).k == 0) {
    return "an operand is empty";
  }
  return std::nullopt;
}

}  // namespace

void register_cpu_integer_matmul(KernelRegistry& kernels) {
  kernels.add({.op = "integer_matmul",
               .name = "simd:widening",
               .rank = 10,
               .declines = integer_matmul_declines,
               .prepare = WEFT_FOR_MACHINE(prepare_widening)});
}

}  // namespace weft
#endif
