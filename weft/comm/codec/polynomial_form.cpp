#include "weft/comm/codec/polynomial_form.h"

#include <algorithm>
#include <cmath>

#include "weft/comm/codec/f32_bytes.h"
#include "weft/comm/codec/sorted_values.h"

namespace weft {
namespace {

void write_plain(std::span<const float> values, std::span<float> residual,
                 ByteWriter& out) {
  out.write(static_cast<std::uint8_t>(CurveForm::kPlain));
  out.write_all(values);
  // Plain values arrive whole, so nothing is left to send later.
  std::fill(residual.begin(), residual.end(), 0.0f);
}

// The sorted values that two curves of magnitudes stand for.
std::vector<float> evaluate_both(const PiecewisePolynomial& positive,
                                 const PiecewisePolynomial& negative,
                                 std::size_t positives, std::size_t size,
                                 int degree) {
  std::vector<float> sorted(size);
  const std::span<float> all(sorted);
  evaluate(positive, degree, all.first(positives));
  evaluate(negative, degree, all.subspan(positives));
  for (float& value : all.subspan(positives)) value = -value;
  return sorted;
}

}  // namespace

void write_polynomial_form(std::span<const float> values,
                           const PolynomialOptions& options,
                           std::span<float> residual, ByteWriter& out) {
  // Places and coefficients of so few take more room than the values.
  if (values.size() < kFewestForCurve) {
    return write_plain(values, residual, out);
  }
  const SortedBySign sorted = sort_by_sign(values);
  std::vector<float> magnitudes;
  magnitudes.reserve(values.size());
  // Magnitudes of either sign fall along the order, which is the shape that
  // curves fit well.
  for (const std::uint32_t position : sorted.order) {
    magnitudes.push_back(std::abs(values[position]));
  }
  const std::span<const float> all(magnitudes);
  const auto positive = fit_piecewise(all.first(sorted.positives), options);
  const auto negative = fit_piecewise(all.subspan(sorted.positives), options);
  // The message says in its first byte which form it has, so values that no
  // curve fits travel as they are.
  if (!positive || !negative) return write_plain(values, residual, out);

  out.write(static_cast<std::uint8_t>(CurveForm::kPolynomials));
  out.write_varint(sorted.positives);
  write_piecewise(*positive, options, out);
  write_piecewise(*negative, options, out);
  write_places(sorted.order, out);
  if (residual.empty()) return;
  // The residual is what the receiver's own evaluation leaves.
  const auto decoded = evaluate_both(*positive, *negative, sorted.positives,
                                     values.size(), options.degree);
  for (std::size_t place = 0; place < decoded.size(); ++place) {
    const std::uint32_t position = sorted.order[place];
    residual[position] = values[position] - decoded[place];
  }
}

void read_polynomial_form(ByteReader& in, CurveForm form,
                          const PolynomialOptions& options,
                          std::span<float> values) {
  if (form == CurveForm::kPlain) return read_floats(in, values);
  const std::uint64_t positives = in.read_varint("positives");
  // Both subspans below are cut by it.
  if (positives > values.size()) {
    throw in.damaged("positives", "is more than the values");
  }
  const auto split = static_cast<std::size_t>(positives);
  const auto positive =
      read_piecewise(in, static_cast<std::uint32_t>(split), options);
  const auto negative = read_piecewise(
      in, static_cast<std::uint32_t>(values.size() - split), options);
  const auto places = read_places(in, values.size());
  const auto sorted =
      evaluate_both(positive, negative, split, values.size(), options.degree);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = sorted[places[i]];
  }
}

CurveForm read_curve_form(ByteReader& in, CurveForm last) {
  const auto form = in.read<std::uint8_t>("form");
  if (form > static_cast<std::uint8_t>(last)) {
    throw in.damaged("form", "is unknown");
  }
  return static_cast<CurveForm>(form);
}

}  // namespace weft
