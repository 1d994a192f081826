// Value codecs that fit curves, and what they are made of.
#include <gtest/gtest.h>
#include <limits>
#include <set>

#include "tests/comm/codec_harness.h"
#include "tests/support/errors.h"

#include "weft/comm/codec/double_exponential.h"
#include "weft/comm/codec/least_squares.h"
#include "weft/comm/codec/polynomial_form.h"
#include "weft/comm/codec/sorted_values.h"

namespace weft::deepreduce_fit_test {
namespace {

using test::decode;
using test::encode;
using test::expect_error;
using test::index_codec;
using test::random_values;
using test::round_trip;
using test::value_codec;
using Floats = std::vector<float>;

CurveForm form_of(const Bytes& message) {
  return static_cast<CurveForm>(message[0]);
}

double largest_error(const Floats& a, const Floats& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    worst = std::max(
        worst, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  return worst;
}

double relative_error(const Floats& a, const Floats& b) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i] - b[i]), 2);
    norm += std::pow(static_cast<double>(a[i]), 2);
  }
  return std::sqrt(difference / norm);
}

Floats shuffled(Floats values, std::uint64_t seed) {
  const Permutation permutation(values.size(), seed, 0, 0);
  Floats result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    result.push_back(values[permutation(i)]);
  }
  return result;
}

TEST(LeastSquares, SolvesMoreRowsThanItKeeps) {
  // y = 2 - 3 x + 0.5 x^2, with errors that no such curve can follow.
  LeastSquares equations(3);
  for (int i = 0; i < 1000; ++i) {
    const double x = i / 500.0 - 1;
    const double error = i % 2 == 0 ? 1e-3 : -1e-3;
    equations.add(std::array{1.0, x, x * x}, 2 - 3 * x + 0.5 * x * x + error);
  }
  const auto solution = equations.solve();
  ASSERT_TRUE(solution.has_value());
  EXPECT_NEAR((*solution)[0], 2, 1e-5);
  EXPECT_NEAR((*solution)[1], -3, 1e-5);
  EXPECT_NEAR((*solution)[2], 0.5, 1e-5);
}

TEST(LeastSquares, RefusesDependentColumns) {
  LeastSquares dependent(2);
  for (int i = 0; i < 200; ++i) {
    dependent.add(std::array{1.0 * i, 3.0 * i}, 1);
  }
  EXPECT_FALSE(dependent.solve().has_value());
  LeastSquares few(2);
  few.add(std::array{1.0, 2.0}, 1);
  EXPECT_FALSE(few.solve().has_value());
}

TEST(SortedValues, PlacesAreABijection) {
  for (const std::size_t count : {0u, 1u, 2u, 3u, 64u, 65u, 1000u}) {
    const Floats values = random_values(count, count);
    const auto sorted = sort_by_sign(values);
    EXPECT_EQ(std::set(sorted.order.begin(), sorted.order.end()).size(), count);
    for (std::size_t k = 1; k < count; ++k) {
      const float before = values[sorted.order[k - 1]];
      const float value = values[sorted.order[k]];
      EXPECT_EQ(value >= 0, k < sorted.positives);
      if (k != sorted.positives) {
        EXPECT_GE(std::abs(before), std::abs(value));
      }
    }
    Bytes bytes;
    ByteWriter out(bytes);
    write_places(sorted.order, out);
    // ceil(log2 count) bits each.
    const double bits =
        count < 2 ? 0 : std::ceil(std::log2(static_cast<double>(count)));
    EXPECT_EQ(static_cast<double>(bytes.size()),
              std::ceil(static_cast<double>(count) * bits / 8));
    ByteReader in(bytes, "message");
    const auto places = read_places(in, count);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(sorted.order[places[i]], i);
    }
  }
}

TEST(SortedValues, RefusesPlacesThatAreNoPermutation) {
  // Four places of two bits: 0, 1, 1, 3; and three: 0, 1, 3.
  for (const auto& [byte, count] : {std::pair{0xD4, 4}, std::pair{0x34, 3}}) {
    const Bytes bytes = {static_cast<std::byte>(byte)};
    expect_error(ErrorCode::kDataLoss, {"'permutation'"},
                 [&bytes, places = static_cast<std::size_t>(count)] {
                   ByteReader in(bytes, "message");
                   read_places(in, places);
                 });
  }
}

TEST(PiecewisePolynomial, FixedSegmentsAreFineAtTheSteepEnd) {
  using Lengths = std::vector<std::uint32_t>;
  EXPECT_EQ(fixed_segments(0), Lengths());
  EXPECT_EQ(fixed_segments(154), Lengths({154}));
  // 155 / 5 = 31 is the first share above 30.
  EXPECT_EQ(fixed_segments(155), Lengths({31, 124}));
  EXPECT_EQ(fixed_segments(40000),
            Lengths({40, 133, 400, 1333, 4000, 8000, 26094}));
}

TEST(PiecewisePolynomial, ChordKnotIsWhereTheSlopeIsTheChords) {
  // y = (n - i)^2: the slope equals the chord's in the middle.
  Floats y;
  for (int i = 0; i <= 1000; ++i) {
    y.push_back(static_cast<float>((1000 - i) * (1000 - i)));
  }
  using Lengths = std::vector<std::uint32_t>;
  EXPECT_EQ(chord_segments(y, 5, 1), Lengths({500, 501}));
  // Then it is the steep side's turn: 0 … 499.
  const auto twice = chord_segments(y, 5, 2);
  ASSERT_EQ(twice.size(), 3u);
  EXPECT_NEAR(twice[0], 250, 1);
  EXPECT_EQ(twice[0] + twice[1], 500u);
  // Too short to be cut.
  EXPECT_EQ(chord_segments(std::span(y).first(11), 5, 5), Lengths({11}));
  EXPECT_EQ(chord_segments({}, 5, 5), Lengths());
}

TEST(PiecewisePolynomial, LinesStayWithinTheBound) {
  // For p knots the error of lines is at most 2 M / p^2, M the variation of
  // the slope (section 5 of the paper).
  for (const std::size_t points : {200u, 2000u, 20000u}) {
    Floats y;
    for (std::size_t i = 0; i < points; ++i) {
      y.push_back(static_cast<float>(1 / (static_cast<double>(i) + 1)));
    }
    const double variation = std::abs(
        static_cast<double>((y[0] - y[1]) - (y[points - 2] - y[points - 1])));
    const PolynomialOptions lines{
        .degree = 1, .knots = Knots::kChord, .breaks = 20};
    const auto curve = fit_piecewise(y, lines);
    ASSERT_TRUE(curve.has_value());
    const auto knots = static_cast<double>(curve->lengths.size() - 1);
    ASSERT_GE(knots, 2);
    Floats fitted(points);
    evaluate(*curve, 1, fitted);
    EXPECT_LE(largest_error(y, fitted), 2 * variation / (knots * knots))
        << points;
  }
}

TEST(FitPoly, ReproducesAPolynomialOfDegreeFive) {
  Floats values;
  for (int i = 0; i < 900; ++i) {
    const double x = i / 899.0;
    // Descending, from 3 to 0.1.
    values.push_back(static_cast<float>(0.1 + 1.3 * std::pow(1 - x, 5) +
                                        0.9 * std::pow(1 - x, 3) +
                                        0.7 * (1 - x)));
  }
  values = shuffled(values, 4);
  for (const std::string knots : {"fixed", "chord"}) {
    const auto codec = value_codec("fit-poly", {{"knots", knots}});
    const Floats decoded = round_trip(*codec, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_NEAR(decoded[i], values[i], 1e-5 * std::abs(values[i]));
    }
  }
}

TEST(FitPoly, FollowsGradients) {
  const Floats values = random_values(4000, 1);
  for (const std::string knots : {"fixed", "chord"}) {
    const auto codec = value_codec("fit-poly", {{"knots", knots}});
    EXPECT_LT(relative_error(values, round_trip(*codec, values)), 0.05);
  }
}

TEST(FitPoly, TakesAnySigns) {
  const auto codec = value_codec("fit-poly");
  EXPECT_FALSE(codec->is_for_dense());
  Floats positive = random_values(300, 2);
  for (float& value : positive) value = std::abs(value);
  Floats negative = positive;
  for (float& value : negative) value = -value;
  Floats one_negative = positive;
  one_negative[17] = -1;
  EXPECT_LT(relative_error(positive, round_trip(*codec, positive)), 0.15);
  EXPECT_LT(relative_error(negative, round_trip(*codec, negative)), 0.15);
  // A sign of its own is exact.
  EXPECT_EQ(round_trip(*codec, one_negative)[17], -1.0f);
}

TEST(FitPoly, ConstantsAndFewValuesAreExact) {
  const auto codec = value_codec("fit-poly");
  const Floats constant(500, 0.37f);
  EXPECT_LT(largest_error(constant, round_trip(*codec, constant)), 1e-7);
  const Floats zeros(500, 0.0f);
  EXPECT_EQ(round_trip(*codec, zeros), zeros);
  for (std::size_t count = 0; count < 7; ++count) {
    const Floats few = random_values(count, 9);
    const auto message = encode(*codec, few);
    EXPECT_EQ(form_of(message.bytes), CurveForm::kPlain);
    EXPECT_EQ(message.bytes.size(), 1 + 4 * count);
    EXPECT_EQ(round_trip(*codec, few), few);
  }
  EXPECT_EQ(form_of(encode(*codec, random_values(7, 9)).bytes),
            CurveForm::kPolynomials);
}

TEST(FitPoly, SendsPlainWhatNoCoefficientHolds) {
  // Steps as high as floats go, over which polynomials shoot.
  Floats values(200, 3e38f);
  for (std::size_t i = 0; i < 120; ++i) values[i] = 0;
  const auto codec = value_codec("fit-poly");
  const auto message = encode(*codec, values);
  EXPECT_EQ(form_of(message.bytes), CurveForm::kPlain);
  EXPECT_EQ(round_trip(*codec, values), values);
}

TEST(FitPoly, SendsSixCoefficientsASegment) {
  // 400 values, 200 of each sign: segments 40 and 160 for each. Form, two
  // bytes of varint, 4 * 6 floats, 400 places of 9 bits.
  Floats values(400);
  for (std::size_t i = 0; i < 400; ++i) {
    values[i] = (i % 2 == 0 ? 1.0f : -1.0f) / static_cast<float>(i + 1);
  }
  EXPECT_EQ(encode(*value_codec("fit-poly"), values).bytes.size(),
            1u + 2 + 4 * 6 * 4 + 400 * 9 / 8);
}

TEST(FitPoly, RefusesDamage) {
  const auto codec = value_codec("fit-poly");
  const auto refuse = [&](const Bytes& bytes, std::size_t count,
                          const char* field) {
    expect_error(ErrorCode::kDataLoss, {field},
                 [&] { decode(*codec, bytes, count); });
  };
  Bytes bytes = encode(*codec, random_values(100, 3)).bytes;
  Bytes other = bytes;
  other[0] = std::byte{2};
  refuse(other, 100, "'form'");
  other = bytes;
  other[1] = std::byte{101};
  refuse(other, 100, "'positives'");
  other = bytes;
  // The first two coefficients become the largest floats, the first infinity.
  for (const std::size_t i : {4u, 5u, 8u, 9u}) other[i] = std::byte{0x7F};
  refuse(other, 100, "'coefficients'");
  other[4] = std::byte{0x80};
  refuse(other, 100, "not finite");
  const auto chord = value_codec("fit-poly", {{"knots", std::string("chord")}});
  bytes = encode(*chord, random_values(100, 3)).bytes;
  const auto refuse_chord = [&](int number, int first, const char* field) {
    Bytes forged = bytes;
    forged[2] = static_cast<std::byte>(number);
    forged[3] = static_cast<std::byte>(first);
    expect_error(ErrorCode::kDataLoss, {field},
                 [&] { decode(*chord, forged, 100); });
  };
  refuse_chord(120, 1, "'number of segments'");
  refuse_chord(1, 0, "'segments'");
  refuse_chord(1, 120, "'segments'");
  refuse_chord(1, 1, "'segments'");
}

TEST(FitPoly, ChecksItsOptions) {
  expect_error(ErrorCode::kInvalidArgument, {"'degree' = 0 must be in [1, 9]"},
               [] {
                 value_codec("fit-poly", {{"degree", std::int64_t{0}}});
               });
  expect_error(ErrorCode::kInvalidArgument, {"'knots'", "did you mean 'chord'"},
               [] {
                 value_codec("fit-poly", {{"knots", std::string("chords")}});
               });
}

// The first figure of the paper: eight values, of which four are zeros. Dense
// and as pairs of key and value 256 bits, as a bit map and a line 72.
TEST(DeepReduce, FirstFigure) {
  const std::vector<std::uint32_t> support = {1, 3, 4, 6};
  const Floats values = {4.0f, 3.4f, 2.8f, 2.2f};  // 4 - 0.6 x
  const auto bitmap = encode(*index_codec("bitmap"), support, 8);
  const PolynomialOptions line{.degree = 1};
  const auto curve = fit_piecewise(values, line);
  ASSERT_TRUE(curve.has_value());
  Bytes bytes = bitmap.bytes;
  ByteWriter out(bytes);
  write_piecewise(*curve, line, out);
  EXPECT_EQ(8 * bytes.size(), 72u);
  Floats decoded(4);
  evaluate(*curve, 1, decoded);
  EXPECT_LT(largest_error(values, decoded), 1e-6);
}

Floats double_exponential(double a, double p, double b, double q,
                          std::size_t points) {
  Floats y;
  for (std::size_t i = 0; i < points; ++i) {
    const double x = static_cast<double>(i) / static_cast<double>(points - 1);
    y.push_back(static_cast<float>(a * std::exp(p * x) + b * std::exp(q * x)));
  }
  return y;
}

TEST(DoubleExponential, RecoversItsParameters) {
  struct Case {
    double a, p, b, q;  // p > q
  };
  for (const Case& c : {Case{0.01, 4, 0.3, 0.5}, Case{0.001, 7, 0.02, 1},
                        Case{2, 1.5, -1.9, -6}, Case{1e-6, 5, 1e-5, 0.7}}) {
    const auto fit =
        fit_double_exponential(double_exponential(c.a, c.p, c.b, c.q, 4000));
    ASSERT_TRUE(fit.has_value());
    EXPECT_NEAR(fit->a, c.a, 1e-3 * std::abs(c.a));
    EXPECT_NEAR(fit->p, c.p, 1e-3 * std::abs(c.p));
    EXPECT_NEAR(fit->b, c.b, 1e-3 * std::abs(c.b));
    EXPECT_NEAR(fit->q, c.q, 1e-3 * std::abs(c.q));
  }
}

TEST(DoubleExponential, HasNoAnswerWhereThereIsNone) {
  // Complex exponents, all zero, too few points.
  Floats sine;
  for (int i = 0; i < 500; ++i) {
    sine.push_back(std::sin(static_cast<float>(i) / 400));
  }
  EXPECT_FALSE(fit_double_exponential(sine).has_value());
  EXPECT_FALSE(fit_double_exponential(Floats(50, 0.0f)).has_value());
  EXPECT_FALSE(fit_double_exponential(Floats(50, 0.5f)).has_value());
  EXPECT_FALSE(fit_double_exponential(Floats{1, 2, 3, 4}).has_value());
}

TEST(FitDexp, SendsFourParametersPlacesAndSigns) {
  Floats values = double_exponential(0.01, 4, 0.3, 0.5, 1000);
  for (std::size_t i = 0; i < values.size(); i += 3) values[i] = -values[i];
  values = shuffled(values, 8);
  const auto codec = value_codec("fit-dexp");
  EXPECT_FALSE(codec->is_for_dense());
  const auto message = encode(*codec, values);
  EXPECT_EQ(form_of(message.bytes), CurveForm::kDoubleExponential);
  EXPECT_EQ(message.bytes.size(), 1u + 16 + 1000 * 10 / 8 + 1000 / 8);
  EXPECT_LT(largest_error(values, round_trip(*codec, values)), 1e-5);
}

TEST(FitDexp, FallsBackVisibly) {
  const auto codec = value_codec("fit-dexp");
  Floats sine;
  for (int i = 0; i < 500; ++i) {
    sine.push_back(std::sin(static_cast<float>(i) / 400));
  }
  EXPECT_EQ(form_of(encode(*codec, sine).bytes), CurveForm::kPolynomials);
  EXPECT_LT(largest_error(sine, round_trip(*codec, sine)), 1e-5);
  const Floats constant(100, -0.25f);
  EXPECT_EQ(form_of(encode(*codec, constant).bytes), CurveForm::kPolynomials);
  EXPECT_LT(largest_error(constant, round_trip(*codec, constant)), 1e-7);
  for (std::size_t count = 0; count < 7; ++count) {
    const Floats few = random_values(count, 3);
    EXPECT_EQ(form_of(encode(*codec, few).bytes), CurveForm::kPlain);
    EXPECT_EQ(round_trip(*codec, few), few);
  }
}

// Two exponentials with nearly the same exponent make a line, and lose it in
// their rounding.
TEST(FitDexp, FollowsLines) {
  const auto codec = value_codec("fit-dexp");
  for (int count = 10; count < 200; ++count) {
    Floats line;
    for (int i = 0; i < count; ++i) {
      line.push_back(static_cast<float>(count + i));
    }
    EXPECT_LT(relative_error(line, round_trip(*codec, line)), 1e-2) << count;
  }
}

TEST(FitDexp, AnswersForGradientsOfAnySize) {
  const auto codec = value_codec("fit-dexp");
  for (const std::size_t count : {7u, 50u, 400u, 5000u}) {
    const Floats values = random_values(count, count);
    EXPECT_LT(relative_error(values, round_trip(*codec, values)), 0.5) << count;
  }
}

TEST(FitDexp, RefusesDamage) {
  const auto codec = value_codec("fit-dexp");
  const Bytes bytes =
      encode(*codec, double_exponential(0.01, 4, 0.3, 0.5, 100)).bytes;
  ASSERT_EQ(form_of(bytes), CurveForm::kDoubleExponential);
  const auto refuse = [&](std::size_t at, float value, const char* part) {
    Bytes forged = bytes;
    std::memcpy(forged.data() + at, &value, sizeof(value));
    expect_error(ErrorCode::kDataLoss, {"'parameters'", part},
                 [&] { decode(*codec, forged, 100); });
  };
  refuse(1, std::numeric_limits<float>::infinity(), "not finite");
  refuse(5, 1e6f, "give values that are not finite");
  refuse(9, std::numeric_limits<float>::quiet_NaN(), "not finite");
  Bytes form = bytes;
  form[0] = std::byte{3};
  expect_error(ErrorCode::kDataLoss, {"'form'"},
               [&] { decode(*codec, form, 100); });
}

}  // namespace
}  // namespace weft::deepreduce_fit_test
