// A product of matrices, or a stack of them, by a library of BLAS.
//
// `Blas` says how one is multiplied:
//   // The first `rows` of c = a b, with the strides of `p`.
//   static void multiply(const Product& p, Dim rows, const T* a, const T* b,
//                        T* c);
//   // What it shares out well itself, in multiplications.
//   static constexpr double kLarge;
//   static std::string name();  // what PreparedKernel::implementation() says
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/index.h"
#include "weft/base/parallel.h"
#include "weft/kernels/cpu/function_kernel.h"
#include "weft/kernels/cpu/product.h"
#include "weft/kernels/cpu/tail.h"

namespace weft {

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
    // Some processors' sums have another order in rows that do not fill a tile:
    // parts begin where tiles do, of which every height divides this one, so
    // that a product has the same bits on any number of threads.
    constexpr Dim kTileRows = 16;
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
      parallel_for((p_.m() + kTileRows - 1) / kTileRows,
                   (least_rows + kTileRows - 1) / kTileRows,
                   [&](std::int64_t begin, std::int64_t end) {
                     const Dim first = begin * kTileRows;
                     multiply(0, first,
                              std::min(end * kTileRows, p_.m()) - first);
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

}  // namespace weft
