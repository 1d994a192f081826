// Fit-DExp of DeepReduce (Xu et al., NeurIPS 2021): the sorted magnitudes as
// one sum of two exponentials, and the place and the sign of each value.
//
// Layout: u8 form (polynomial_form.h); for kDoubleExponential: f32 a, p, b, q;
// the places of the values; a bit for each that has a minus sign.
#include <algorithm>
#include <cmath>

#include "weft/comm/codec/bit_pack.h"
#include "weft/comm/codec/codec.h"
#include "weft/comm/codec/double_exponential.h"
#include "weft/comm/codec/f32_bytes.h"
#include "weft/comm/codec/polynomial_form.h"
#include "weft/comm/codec/sorted_values.h"

namespace weft {
namespace {

void write_curve(const DoubleExponential& curve, std::span<const float> values,
                 std::span<const std::uint32_t> order,
                 std::span<float> residual, ByteWriter& out) {
  out.write(static_cast<std::uint8_t>(CurveForm::kDoubleExponential));
  for (const float parameter : {curve.a, curve.p, curve.b, curve.q}) {
    out.write(parameter);
  }
  write_places(order, out);
  BitWriter signs(out);
  for (const float value : values) signs.put(std::signbit(value) ? 1 : 0, 1);
  signs.finish();
  if (residual.empty()) return;
  std::vector<float> magnitudes(values.size());
  curve.evaluate(magnitudes);
  for (std::size_t place = 0; place < order.size(); ++place) {
    const float value = values[order[place]];
    // What travels is the magnitude with the value's own sign.
    residual[order[place]] = std::signbit(value) ? value + magnitudes[place]
                                                 : value - magnitudes[place];
  }
}

void read_curve(ByteReader& in, std::span<float> values) {
  // No sender writes this, and one point alone has no step.
  if (values.size() < kFewestForCurve) {
    throw in.damaged("form", "is a curve for too few values");
  }
  DoubleExponential curve;
  for (float* parameter : {&curve.a, &curve.p, &curve.b, &curve.q}) {
    *parameter = read_finite(in, "parameters");
  }
  if (!curve.is_bounded()) {
    throw in.damaged("parameters", "give values that are not finite");
  }
  const auto places = read_places(in, values.size());
  std::vector<float> magnitudes(values.size());
  curve.evaluate(magnitudes);
  BitReader signs(in, static_cast<std::size_t>(packed_bytes(values.size(), 1)),
                  "signs");
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float magnitude = magnitudes[places[i]];
    values[i] = signs.get(1) == 1 ? -magnitude : magnitude;
  }
  signs.finish();
}

class FitDexpValueCodec final : public ValueCodec {
 public:
  void encode(std::span<const float> values, const MessageId&,
              std::span<float> residual, ByteWriter& out) const override {
    const auto order = sort_by_magnitude(values);
    std::vector<float> magnitudes;
    magnitudes.reserve(values.size());
    for (const std::uint32_t position : order) {
      magnitudes.push_back(std::abs(values[position]));
    }
    const auto curve = values.size() < kFewestForCurve
                           ? std::nullopt
                           : fit_double_exponential(magnitudes);
    if (curve) {
      write_curve(*curve, values, order, residual, out);
    } else {
      // Values that no two exponentials fit still have to travel; the first
      // byte says in which form.
      write_polynomial_form(values, PolynomialOptions(), residual, out);
    }
  }

  void decode(ByteReader& in, const MessageId&,
              std::span<float> values) const override {
    const CurveForm form = read_curve_form(in, CurveForm::kDoubleExponential);
    if (form == CurveForm::kDoubleExponential) {
      read_curve(in, values);
    } else {
      read_polynomial_form(in, form, PolynomialOptions(), values);
    }
  }

  bool is_for_dense() const override { return false; }
};

}  // namespace

void register_value_codec_fit_dexp(ValueCodecRegistry& codecs) {
  codecs.add({.name = "fit-dexp",
              .summary = "two exponentials through the sorted magnitudes",
              .options = {},
              .make = [](const Options&) -> std::unique_ptr<ValueCodec> {
                return std::make_unique<FitDexpValueCodec>();
              }});
}

}  // namespace weft
