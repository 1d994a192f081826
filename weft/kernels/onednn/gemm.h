// The BLAS entry of oneDNN, for products inside other kernels.
//
// Threads: safe from any; it computes on those of base/parallel.h.
#pragma once

#include <cstdint>

namespace weft::onednn {

// A row-major operand: its transpose is read if asked for. `stride` is the
// distance between rows as they lie in memory.
struct Matrix {
  const float* data;
  std::int64_t stride;
  bool transpose = false;
};

// c = a b + beta c, with a [m, k], b [k, n] once transposed as asked, and c
// [m, n] with `c_stride` between rows. Asserts on failure.
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix& a,
          const Matrix& b, float beta, float* c, std::int64_t c_stride);

}  // namespace weft::onednn
