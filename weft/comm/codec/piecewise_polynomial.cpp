#include "weft/comm/codec/piecewise_polynomial.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "weft/comm/codec/f32_bytes.h"
#include "weft/comm/codec/least_squares.h"

namespace weft {
namespace {

// A segment has one part in so many of the points of its sign, if these are
// more than kFewestInFixed; the rest is one segment.
constexpr std::array<std::uint32_t, 10> kFixedShares = {
    100000, 30000, 10000, 3000, 1000, 300, 100, 30, 10, 5};
constexpr std::uint32_t kFewestInFixed = 30;

// A segment of fewer points than that travels as its points.
std::size_t coefficients_of(std::uint32_t length, int degree) {
  return std::min(static_cast<std::size_t>(length),
                  static_cast<std::size_t>(degree) + 1);
}

// Point i of `length` > 1 on [-1, 1].
double abscissa(std::size_t i, std::size_t length) {
  return 2 * static_cast<double>(i) / static_cast<double>(length - 1) - 1;
}

// Whether every value of the series is a finite f32: Chebyshev polynomials do
// not exceed 1 on [-1, 1].
bool is_bounded(std::span<const float> series) {
  double sum = 0;
  for (const float c : series) sum += std::abs(static_cast<double>(c));
  return sum <= static_cast<double>(std::numeric_limits<float>::max());
}

std::optional<std::vector<float>> fit_series(std::span<const float> y,
                                             int degree) {
  // The basis is that of Chebyshev polynomials: powers of x look alike on an
  // interval, and their equations are nearly dependent.
  LeastSquares equations(degree + 1);
  std::vector<double> row(static_cast<std::size_t>(degree) + 1, 1.0);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double x = abscissa(i, y.size());
    for (std::size_t k = 1; k < row.size(); ++k) {
      row[k] = k == 1 ? x : 2 * x * row[k - 1] - row[k - 2];
    }
    equations.add(row, static_cast<double>(y[i]));
  }
  const auto solution = equations.solve();
  WEFT_CHECK(solution.has_value(), "more points than coefficients");
  std::vector<float> series;
  for (const double c : *solution) series.push_back(static_cast<float>(c));
  // It is asked of the rounded coefficients, as the receiver sees no others.
  if (!is_bounded(series)) return std::nullopt;
  return series;
}

// Clenshaw's recurrence.
void evaluate_series(std::span<const float> series, std::span<float> y) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double x = abscissa(i, y.size());
    double one = 0;
    double two = 0;
    for (std::size_t k = series.size(); k-- > 1;) {
      const double next = static_cast<double>(series[k]) + 2 * x * one - two;
      two = one;
      one = next;
    }
    y[i] = static_cast<float>(static_cast<double>(series[0]) + x * one - two);
  }
}

// The point of y that is farthest from the line between its ends.
std::size_t farthest_from_chord(std::span<const float> y) {
  const auto first = static_cast<double>(y.front());
  const double slope = (static_cast<double>(y.back()) - first) /
                       static_cast<double>(y.size() - 1);
  std::size_t farthest = 0;
  double most = -1;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double gap = std::abs(static_cast<double>(y[i]) - first -
                                slope * static_cast<double>(i));
    if (gap > most) {
      most = gap;
      farthest = i;
    }
  }
  return farthest;
}

std::vector<std::uint32_t> read_lengths(ByteReader& in, std::uint32_t points) {
  const std::uint64_t count = in.read_varint("number of segments");
  // A segment has a point at least, so this bounds the loop and the memory.
  if (count > points) {
    throw in.damaged("number of segments", "is more than the points");
  }
  std::vector<std::uint32_t> lengths;
  std::uint32_t left = points;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t length = in.read_varint("segments");
    if (length == 0 || length > left) {
      throw in.damaged("segments", "do not cover the points");
    }
    lengths.push_back(static_cast<std::uint32_t>(length));
    left -= lengths.back();
  }
  if (left > 0) throw in.damaged("segments", "do not cover the points");
  return lengths;
}

}  // namespace

std::vector<std::uint32_t> fixed_segments(std::uint32_t points) {
  std::vector<std::uint32_t> lengths;
  std::uint32_t rest = points;
  for (const std::uint32_t share : kFixedShares) {
    const std::uint32_t length = points / share;
    if (length <= kFewestInFixed) continue;
    lengths.push_back(length);
    rest -= length;
  }
  if (rest > 0) lengths.push_back(rest);
  return lengths;
}

std::vector<std::uint32_t> chord_segments(std::span<const float> y, int degree,
                                          int breaks) {
  std::vector<std::uint32_t> lengths;  // from the flat end
  const auto fewest = static_cast<std::size_t>(degree) + 1;
  for (int i = 0; i < breaks && y.size() >= 2 * fewest; ++i) {
    const std::size_t knot = farthest_from_chord(y);
    // Neither side may have fewer points than a polynomial has coefficients.
    if (knot < fewest || y.size() - knot < fewest) break;
    // What lies behind the knot is flat and done; the steep part before it is
    // cut again.
    lengths.push_back(static_cast<std::uint32_t>(y.size() - knot));
    y = y.first(knot);
  }
  if (!y.empty()) lengths.push_back(static_cast<std::uint32_t>(y.size()));
  std::reverse(lengths.begin(), lengths.end());
  return lengths;
}

std::optional<PiecewisePolynomial> fit_piecewise(
    std::span<const float> y, const PolynomialOptions& options) {
  PiecewisePolynomial curve;
  curve.lengths = options.knots == Knots::kFixed
                      ? fixed_segments(static_cast<std::uint32_t>(y.size()))
                      : chord_segments(y, options.degree, options.breaks);
  for (const std::uint32_t length : curve.lengths) {
    const auto segment = y.first(length);
    y = y.subspan(length);
    if (length <= coefficients_of(length, options.degree)) {
      // So few points take no more room than a polynomial through them.
      curve.coefficients.insert(curve.coefficients.end(), segment.begin(),
                                segment.end());
      continue;
    }
    const auto series = fit_series(segment, options.degree);
    if (!series) return std::nullopt;
    curve.coefficients.insert(curve.coefficients.end(), series->begin(),
                              series->end());
  }
  return curve;
}

void evaluate(const PiecewisePolynomial& curve, int degree,
              std::span<float> y) {
  std::span<const float> coefficients = curve.coefficients;
  for (const std::uint32_t length : curve.lengths) {
    const auto segment = y.first(length);
    const auto own = coefficients.first(coefficients_of(length, degree));
    if (own.size() == length) {
      std::copy(own.begin(), own.end(), segment.begin());
    } else {
      evaluate_series(own, segment);
    }
    y = y.subspan(length);
    coefficients = coefficients.subspan(own.size());
  }
}

void write_piecewise(const PiecewisePolynomial& curve,
                     const PolynomialOptions& options, ByteWriter& out) {
  // Fixed knots follow from the number of points, which both ends know.
  if (options.knots == Knots::kChord) {
    out.write_varint(curve.lengths.size());
    for (const std::uint32_t length : curve.lengths) out.write_varint(length);
  }
  out.write_all(std::span<const float>(curve.coefficients));
}

PiecewisePolynomial read_piecewise(ByteReader& in, std::uint32_t points,
                                   const PolynomialOptions& options) {
  PiecewisePolynomial curve;
  curve.lengths = options.knots == Knots::kFixed ? fixed_segments(points)
                                                 : read_lengths(in, points);
  for (const std::uint32_t length : curve.lengths) {
    const std::size_t begin = curve.coefficients.size();
    const std::size_t count = coefficients_of(length, options.degree);
    curve.coefficients.resize(begin + count);
    const auto own = std::span(curve.coefficients).subspan(begin);
    read_floats(in, own);
    // Points that travel as themselves were checked as they were read.
    if (count < length && !is_bounded(own)) {
      throw in.damaged("coefficients", "give values that are not finite");
    }
  }
  return curve;
}

}  // namespace weft
