// Symmetric matrices made tridiagonal by reflections, the first step to their
// eigenvalues: Qᵀ A Q = T with Q = H₍n₋₂₎ … H₀ and Hᵢ = I - τᵢ v vᵀ.
//
// LAPACK reads the matrix for its product with each reflection's vector, and
// updates it in blocks afterwards. Here the update by one reflection and the
// product with the vector of the next are one pass over the lower triangle,
// which for matrices that the second cache holds is limited by arithmetic.
//
// Source: Golub and Van Loan, "Matrix Computations" (2013), section 8.3.1;
// Howell, Demmel, Fulton, Hammarling and Marmol, "Cache Efficient
// Bidiagonalization Using BLAS 2.5 Operators" (2008), for the joint pass.
//
// Threads: safe from any.
#pragma once

#include <cstdint>

namespace weft {

// Rows are this far apart, and as many: n or a little more.
std::int64_t tridiagonal_stride(std::int64_t n);
inline constexpr std::int64_t kTridiagonalRows = 4;

// `a` [stride, stride] holds a symmetric [n, n] and zeros around it; the largest
// of its elements is about 1, as they are squared. Vectors v take the place
// of its lower triangle, as LAPACK's sytrd leaves them for 'U' by columns,
// whose other arguments these are: `diagonal` [n], `beside` and `factors` (τ)
// [n - 1]. `work` has 4 stride numbers. Takes 4/3 n³ additions and
// multiplications.
void make_tridiagonal(std::int64_t n, float* a, float* diagonal, float* beside,
                      float* factors, float* work);
void make_tridiagonal(std::int64_t n, double* a, double* diagonal,
                      double* beside, double* factors, double* work);

}  // namespace weft
