// The forms in which the fits of curves write values: plain, where there are
// too few for a curve, or as piecewise polynomials. `fit-dexp` adds a form of
// its own and falls back to these.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "weft/comm/codec/piecewise_polynomial.h"

namespace weft {

// The first byte of the values.
enum class CurveForm : std::uint8_t {
  kPlain = 0,
  kPolynomials = 1,
  kDoubleExponential = 2,
};

// A curve does not pay for fewer values than this.
inline constexpr std::size_t kFewestForCurve = 7;

// See ValueCodec::encode(). Layout: u8 form; then
//   plain        the values
//   polynomials  varint number of values without a minus sign; their
//                magnitudes as a curve (piecewise_polynomial.h), those of the
//                others as another; the places of the values (sorted_values.h)
// The form is plain for few values and for those so large that a coefficient
// does not fit an f32.
void write_polynomial_form(std::span<const float> values,
                           const PolynomialOptions& options,
                           std::span<float> residual, ByteWriter& out);

// What follows the form, which is kPlain or kPolynomials. Throws
// Error(kDataLoss) naming the field.
void read_polynomial_form(ByteReader& in, CurveForm form,
                          const PolynomialOptions& options,
                          std::span<float> values);

// Reads the form. Throws Error(kDataLoss) if it is above `last`.
CurveForm read_curve_form(ByteReader& in, CurveForm last);

}  // namespace weft
