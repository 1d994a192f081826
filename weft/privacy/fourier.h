// The discrete Fourier transform of doubles, with a bound of its error.
#pragma once

#include <complex>
#include <cstddef>
#include <span>
#include <vector>

namespace weft::privacy {

// Threads: a plan may be shared. Cost: O(N log N) for each transform.
class Fourier {
 public:
  // `size` is that of what is transformed, a power of two.
  explicit Fourier(std::size_t size);

  // In place, X_k = sum of x_n e^(-2 pi i n k / N).
  void transform(std::span<std::complex<double>> x) const;
  // In place, x_n = sum of X_k e^(2 pi i n k / N) / N.
  void invert(std::span<std::complex<double>> x) const;

  // How far any element of a transform may be from the exact one, in terms of
  // the sum of the inputs' sizes (for the inverse, that sum over N): each of
  // the log2 N stages multiplies by a rounded root and adds (Higham, "Accuracy
  // and stability of numerical algorithms", 2002, section 24.1).
  double error() const;

 private:
  std::vector<std::complex<double>> roots_;  // N / 2
};

}  // namespace weft::privacy
