// Linear least squares by Householder reflections (Golub, 1965), row by row:
// rows are folded into the triangle as they come, so that memory does not
// grow with their number.
//
// Threads: value type; caller synchronises.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace weft {

class LeastSquares {
 public:
  // `unknowns` of them, 1 to 94.
  explicit LeastSquares(int unknowns);

  // One equation: row · unknowns = right, with an entry for each unknown.
  void add(std::span<const double> row, double right);

  // The unknowns with the least sum of squared errors; nothing if the rows
  // do not determine them.
  std::optional<std::vector<double>> solve();

 private:
  double& at(std::size_t row, std::size_t column) {
    return elements_[column * kRows + row];
  }
  void triangularise();

  static constexpr std::size_t kRows = 96;

  std::size_t unknowns_;
  std::size_t rows_ = 0;
  std::vector<double> elements_;  // by columns; the last is the right side
};

}  // namespace weft
