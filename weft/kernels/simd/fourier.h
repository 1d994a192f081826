// Complex Fourier transforms of many rows side by side, so that each step of
// the algorithm is a loop over vectors whatever the size is.
//
// Threads: immutable once made; runs with memory of the caller's.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weft/kernels/simd/fourier_stages.h"

namespace weft {

class FourierTransform {
 public:
  // Prepares transforms of rows of n > 0 numbers. Allocates tables of about as
  // many.
  explicit FourierTransform(std::int64_t n);
  ~FourierTransform();
  FourierTransform(FourierTransform&&) noexcept;

  // How many numbers the rows must have room for: n, or more.
  std::int64_t capacity() const;
  // Replaces x_j by Σ_j x_j exp(-2πi jk/n). The result lies in `x` or in
  // `other`, which is as large: where is returned. For exp(+2πi jk/n) let re
  // and im change places before and after.
  ComplexRows run(ComplexRows x, ComplexRows other, std::int64_t lanes) const;

 private:
  struct ByConvolution;

  void add_stages(std::int64_t n);

  std::int64_t n_;
  std::vector<FourierStage> stages_;
  // It is there for sizes with a large prime factor, and null for others.
  std::unique_ptr<ByConvolution> by_convolution_;
};

}  // namespace weft
