// The stages of a complex Fourier transform by the self-sorting algorithm of
// Stockham (Van Loan, "Computational frameworks for the fast Fourier
// transform", 1992, 1.7).
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <vector>

namespace weft {

// Number j of row l is re[j * lanes + l] + i im[j * lanes + l].
struct ComplexRows {
  float* re;
  float* im;
};

struct FourierStage {
  std::int64_t radix;  // at most kMostFourierRadix
  std::int64_t parts;  // how many butterflies differ in their factors
  // exp(-2πi p k / (parts radix)), [parts][radix].
  std::vector<float> re, im;
  // exp(-2πi k / radix), of radices that have no butterfly of their own.
  std::vector<float> unit_re, unit_im;
};

// A butterfly of radix r takes r² products.
inline constexpr std::int64_t kMostFourierRadix = 13;

// y[r p + k] = w^(pk) Σ_j x[p + parts j] exp(-2πi jk/r), each of `stride`
// numbers. x and y must not overlap.
void run_fourier_stage(const FourierStage& stage, std::int64_t stride,
                       ComplexRows x, ComplexRows y);

}  // namespace weft
