// Fit-Poly of DeepReduce (Xu et al., NeurIPS 2021): the sorted values as
// polynomials, and the place of each value among them. For the values that a
// sparsifier picked: where there are many, places cost more than values.
//
// Layout: see polynomial_form.h.
#include "weft/comm/codec/codec.h"
#include "weft/comm/codec/polynomial_form.h"

namespace weft {
namespace {

class FitPolyValueCodec final : public ValueCodec {
 public:
  explicit FitPolyValueCodec(const PolynomialOptions& options)
      : options_(options) {}

  void encode(std::span<const float> values, const MessageId&,
              std::span<float> residual, ByteWriter& out) const override {
    write_polynomial_form(values, options_, residual, out);
  }
  void decode(ByteReader& in, const MessageId&,
              std::span<float> values) const override {
    const CurveForm form = read_curve_form(in, CurveForm::kPolynomials);
    read_polynomial_form(in, form, options_, values);
  }
  bool is_for_dense() const override { return false; }

 private:
  PolynomialOptions options_;
};

int small_option(const Options& options, std::string_view name) {
  return static_cast<int>(option<std::int64_t>(options, name));
}

std::unique_ptr<ValueCodec> make_fit_poly(const Options& options) {
  const bool is_fixed = option<std::string>(options, "knots") == "fixed";
  return std::make_unique<FitPolyValueCodec>(
      PolynomialOptions{.degree = small_option(options, "degree"),
                        .knots = is_fixed ? Knots::kFixed : Knots::kChord,
                        .breaks = small_option(options, "breaks")});
}

}  // namespace

void register_value_codec_fit_poly(ValueCodecRegistry& codecs) {
  codecs.add({.name = "fit-poly",
              .summary = "polynomials through the sorted values",
              .options = {{"degree",
                           std::int64_t{5},
                           "of the polynomials",
                           {.least = 1, .most = 9}},
                          {"knots",
                           std::string("fixed"),
                           "at fixed shares, or farthest from the chord",
                           {},
                           {"fixed", "chord"}},
                          {"breaks",
                           std::int64_t{5},
                           "the most knots of a sign, for chord",
                           {.least = 1, .most = 100}}},
              .make = make_fit_poly});
}

}  // namespace weft
