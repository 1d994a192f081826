// Reflections make a symmetric matrix the tridiagonal one that is returned.
#include "weft/kernels/simd/tridiagonal.h"

#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "weft/base/index.h"
#include "weft/base/philox.h"

namespace weft::tridiagonal_test {
namespace {

using Matrix = std::vector<std::vector<double>>;

template <class T>
struct Reduced {
  std::int64_t n, stride;
  std::vector<T> a, diagonal, beside, factors;

  explicit Reduced(const Matrix& matrix)
      : n(std::ssize(matrix)),
        stride(tridiagonal_stride(n)),
        a(at(stride * stride)),
        diagonal(at(n)),
        beside(at(n)),
        factors(at(n)) {
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        a[at(i * stride + j)] = static_cast<T>(matrix[at(i)][at(j)]);
      }
    // What the memory holds must not matter.
    std::vector<T> work(at(kTridiagonalRows * stride), T(7));
    make_tridiagonal(n, a.data(), diagonal.data(), beside.data(),
                     factors.data(), work.data());
  }

  // That of the reflection which clears a row; its last number is 1.
  std::vector<double> vector_of(std::int64_t row) const {
    const auto first = a.begin() + row * stride;
    std::vector<double> v(first, first + row);
    v.resize(at(n));
    return v;
  }
};

// Numbers of several sizes, and rows that have nothing to clear.
Matrix symmetric(std::int64_t n) {
  Matrix a(at(n), std::vector<double>(at(n)));
  const RandomStream random{3, 0, 0};
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j <= i; ++j) {
      const auto word = random.word(static_cast<std::uint64_t>(i * n + j));
      const double size = word % 7 == 0 ? 1e-6 : 1;
      a[at(i)][at(j)] = a[at(j)][at(i)] =
          i % 11 == 5 && j + 1 < i
              ? 0
              : size * (static_cast<double>(word % 2001) / 1000 - 1);
    }
  return a;
}

// H A H with H = I - factor v vᵀ.
void reflect(Matrix& a, const std::vector<double>& v, double factor) {
  const std::size_t n = v.size();
  for (const bool is_left : {true, false}) {
    for (std::size_t k = 0; k < n; ++k) {
      const auto at = [&](std::size_t i) -> double& {
        return is_left ? a[i][k] : a[k][i];
      };
      double dot = 0;
      for (std::size_t i = 0; i < n; ++i) dot += v[i] * at(i);
      for (std::size_t i = 0; i < n; ++i) at(i) -= factor * dot * v[i];
    }
  }
}

template <class T>
void expect_reduces(std::int64_t n) {
  Matrix a = symmetric(n);
  const Reduced<T> reduced(a);
  const double tolerance =
      std::numeric_limits<T>::epsilon() * static_cast<double>(4 * n + 4);
  for (std::int64_t row = n - 1; row > 0; --row) {
    const auto v = reduced.vector_of(row);
    const double factor = reduced.factors[at(row - 1)];
    double squares = 0;
    for (const double x : v) squares += x * x;
    EXPECT_EQ(v[at(row - 1)], 1);
    // Only then it is a reflection, or it changes nothing.
    EXPECT_NEAR(factor * (factor * squares - 2), 0, tolerance);
    reflect(a, v, factor);
  }
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j <= i; ++j) {
      const double expected = i == j       ? reduced.diagonal[at(i)]
                              : i == j + 1 ? reduced.beside[at(j)]
                                           : T(0);
      ASSERT_NEAR(a[at(i)][at(j)], expected, tolerance)
          << n << ": " << i << ", " << j;
    }
}

TEST(Tridiagonal, IsWhatReflectionsMakeOfTheMatrix) {
  for (const std::int64_t n : {1, 2, 3, 4, 15, 16, 17, 31, 33, 70, 130}) {
    expect_reduces<float>(n);
    expect_reduces<double>(n);
  }
}

TEST(Tridiagonal, LeavesADiagonalMatrixAsItIs) {
  Matrix a(20, std::vector<double>(20));
  for (std::size_t i = 0; i < 20; ++i) a[i][i] = static_cast<double>(i);
  const Reduced<double> reduced(a);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(reduced.diagonal[i], a[i][i]);
    EXPECT_EQ(reduced.factors[i], 0);
    EXPECT_EQ(reduced.beside[i], 0);
  }
}

}  // namespace
}  // namespace weft::tridiagonal_test
