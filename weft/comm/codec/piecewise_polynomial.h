// A descending curve as polynomials, one for each of a few segments (Xu et
// al., "DeepReduce", NeurIPS 2021, section 5).
//
// The points of a segment are mapped to [-1, 1] and the polynomial is a
// Chebyshev series there: powers of the point numbers would make the
// equations of long segments singular in any floating point.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weft/comm/codec/bytes.h"

namespace weft {

// How a curve is cut; its steep end comes first.
enum class Knots {
  kFixed,  // at fixed shares of the points, finer towards the steep end
  kChord,  // where the curve is farthest from its chord, then again on the
           // steep side
};

struct PiecewisePolynomial {
  std::vector<std::uint32_t> lengths;  // of the segments
  // Segment after segment: degree + 1 of them, or the points themselves where
  // there are no more than that.
  std::vector<float> coefficients;
};

// The lengths of Knots::kFixed, which add up to `points`.
std::vector<std::uint32_t> fixed_segments(std::uint32_t points);
// Makes at most `breaks` knots; a piece is cut while both sides have more than
// `degree` points.
std::vector<std::uint32_t> chord_segments(std::span<const float> y, int degree,
                                          int breaks);

struct PolynomialOptions {
  int degree = 5;
  Knots knots = Knots::kFixed;
  int breaks = 5;  // for kChord
};

// Fits by least squares. Gives nothing if a coefficient does not fit an f32.
std::optional<PiecewisePolynomial> fit_piecewise(
    std::span<const float> y, const PolynomialOptions& options);
// Fills `y`, which has as many values as the lengths add up to.
void evaluate(const PiecewisePolynomial& curve, int degree, std::span<float> y);

// Layout: for kChord, varint number of segments and their lengths as varints;
// the coefficients. `points` of the curve are known to both ends.
void write_piecewise(const PiecewisePolynomial& curve,
                     const PolynomialOptions& options, ByteWriter& out);
// Throws Error(kDataLoss) for lengths that do not cover the points, and for
// coefficients that give values which are not finite.
PiecewisePolynomial read_piecewise(ByteReader& in, std::uint32_t points,
                                   const PolynomialOptions& options);

}  // namespace weft
