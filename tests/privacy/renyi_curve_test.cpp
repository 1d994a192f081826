// Rényi curves: hand values, an independent quadrature, dp-accounting.
#include "weft/privacy/renyi_curve.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numbers>

#include "tests/privacy/golden.h"
#include "tests/support/errors.h"

#include "weft/privacy/mechanism.h"

namespace weft::renyi_curve_test {
namespace {

using namespace weft::privacy;
using test::expect_error;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

RenyiCurve curve_of(const char* mechanisms,
                    const RenyiOrders& orders = budget_orders()) {
  return renyi_curve(parse_mechanisms(mechanisms), orders);
}

double at(const RenyiCurve& curve, double order) {
  for (std::size_t i = 0; i < curve.size(); ++i)
    if (curve.orders()[i] == order) return curve[i];
  return std::numeric_limits<double>::quiet_NaN();
}

// The larger divergence of a mixture (1 - q) f(x) + q f(x - 1) from f and of f
// from it, by the trapezoid rule.
template <class Density>
double by_quadrature(double rate, double order, Density f) {
  double mass = 0;
  double removed = 0;
  double added = 0;
  for (int i = -60'000; i <= 60'000; ++i) {
    const double x = i * 1e-3;
    const double without = f(x);
    const double with = (1 - rate) * without + rate * f(x - 1);
    if (without == 0 || with == 0) continue;
    mass += without;
    removed += with * std::pow(with / without, order - 1);
    added += without * std::pow(without / with, order - 1);
  }
  return std::log(std::max(removed, added) / mass) / (order - 1);
}

TEST(RenyiCurve, CapacitiesByHand) {
  const RenyiCurve c = capacity({10, 1e-7}, budget_orders());
  const double expected[] = {0,      0,      0,      0,      1.9410, 4.6273,
                             5.9705, 6.7764, 7.6974, 8.9255, 9.4801, 9.7442};
  for (std::size_t i = 0; i < c.size(); ++i)
    EXPECT_NEAR(c[i], expected[i], 1e-4) << c.orders()[i];
}

TEST(RenyiCurve, LaplaceByHand) {
  const RenyiCurve c = curve_of("laplace(noise=1)");
  EXPECT_NEAR(at(c, 2), 0.6191, 1e-4);
  EXPECT_NEAR(at(c, 4), 0.8137, 1e-4);
  EXPECT_NEAR(at(c, 64), 0.9891, 1e-4);
  // Where e^((order - 1) / noise) is no double.
  EXPECT_NEAR(at(curve_of("laplace(noise=0.01)"), 64),
              100 + std::log(64.0 / 127) / 63, 1e-9);
}

TEST(RenyiCurve, SubsampledGaussianByHand) {
  const RenyiCurve c =
      curve_of("subsampled_gaussian(noise=1, rate=0.01, steps=1000)");
  EXPECT_NEAR(at(c, 2), 0.17181, 1e-5);
  EXPECT_NEAR(at(c, 4), 0.36315, 1e-5);
  EXPECT_NEAR(at(c, 8), 0.89364, 1e-5);
  const RenyiOrders integers({2, 3, 4, 5, 6, 7, 8, 16, 32, 64});
  const AtOrder found = epsilon_of(
      curve_of("subsampled_gaussian(noise=1, rate=0.01, steps=1000)", integers),
      1e-5);
  EXPECT_NEAR(found.value, 2.108, 1e-3);
  EXPECT_EQ(found.order, 8);
}

TEST(RenyiCurve, SubsampledGaussianIsItsIntegralOrAbove) {
  for (const double rate : {0.01, 0.1}) {
    for (const double noise : {0.8, 2.0}) {
      const auto density = [&](double x) {
        return std::exp(-x * x / (2 * noise * noise)) /
               (noise * std::sqrt(2 * std::numbers::pi));
      };
      const RenyiCurve c = curve_of(
          fmt::format("subsampled_gaussian(noise={}, rate={})", noise, rate)
              .c_str());
      for (const double order : {1.5, 1.75, 2.0, 2.5, 4.0, 8.0}) {
        const double truth = by_quadrature(rate, order, density);
        EXPECT_GE(at(c, order), truth * (1 - 1e-5)) << rate << " " << order;
        // Between integers it is an upper bound, the looser the nearer to 1.
        const double slack = order == std::floor(order) ? 1e-5 : 1;
        EXPECT_LE(at(c, order), truth * (1 + slack)) << rate << " " << order;
      }
    }
  }
}

TEST(RenyiCurve, KeepsItsDigitsWhereNextToNothingIsTold) {
  // order / 2 times rate^2 (e^(1 / noise^2) - 1), but for the next power of the
  // rate.
  for (const double order : {2.0, 8.0, 64.0}) {
    const double found =
        at(curve_of("subsampled_gaussian(noise=1e3, rate=1e-6)"), order);
    EXPECT_NEAR(found, order / 2 * 1e-12 * std::expm1(1e-6), 1e-4 * found);
  }
}

TEST(RenyiCurve, IsNotBelowTheTruthWhereRoundingIsLarger) {
  // Orders of a rate q tell order / 2 q^2 (e^(1 / noise^2) - 1) and more.
  for (const double rate : {1e-9, 1e-6}) {
    for (const double noise : {1.0, 10.0}) {
      for (const double order : {1.1, 1.5, 2.5, 10.9}) {
        const double truth =
            order / 2 * rate * rate * std::expm1(1 / (noise * noise));
        const RenyiCurve found = curve_of(
            fmt::format("subsampled_gaussian(noise={}, rate={})", noise, rate)
                .c_str(),
            RenyiOrders({order}));
        EXPECT_GE(found[0], truth * (1 - 1e-9)) << rate << " " << order;
        EXPECT_LE(found[0], 2 * truth) << rate << " " << order;
      }
    }
  }
}

TEST(RenyiCurve, SubsampledLaplaceIsItsIntegralAndAbove) {
  for (const double rate : {0.01, 0.3}) {
    for (const double noise : {0.5, 2.0}) {
      const auto density = [&](double x) {
        return std::exp(-std::abs(x) / noise) / (2 * noise);
      };
      const RenyiCurve c = curve_of(
          fmt::format("subsampled_laplace(noise={}, rate={})", noise, rate)
              .c_str());
      for (const double order : {2.0, 3.0, 8.0}) {
        const double truth = by_quadrature(rate, order, density);
        EXPECT_NEAR(at(c, order), truth, 1e-5 * truth);
      }
      // Between integers it is a line, which is above.
      for (const double order : {1.5, 1.75, 2.5}) {
        EXPECT_GE(at(c, order), by_quadrature(rate, order, density) * 0.9999);
      }
    }
  }
}

TEST(RenyiCurve, EndsOfRateAndNoise) {
  for (const char* kind : {"gaussian", "laplace"}) {
    const auto text = [&](const char* options) {
      return fmt::format("subsampled_{}({})", kind, options);
    };
    EXPECT_EQ(curve_of(text("noise=2, rate=0").c_str()),
              RenyiCurve(budget_orders()));
    EXPECT_EQ(curve_of(text("noise=2, rate=1").c_str()),
              curve_of(fmt::format("{}(noise=2)", kind).c_str()));
    EXPECT_EQ(at(curve_of(text("noise=0, rate=0.1").c_str()), 2), kInfinity);
  }
}

TEST(RenyiCurve, TreesAreGaussiansOfTheirDepth) {
  EXPECT_EQ(curve_of("dp_ftrl(noise=3, leaves=1023)").values().back(),
            curve_of("gaussian(noise=3, steps=10)").values().back());
  EXPECT_NEAR(at(curve_of("dp_ftrl(noise=3, leaves=1024, steps=2)"), 2),
              22 * 2 / 18.0, 1e-12);
  // Where the logarithm of one more is that of the leaves.
  EXPECT_EQ(curve_of("dp_ftrl(noise=3, leaves=562949953421312)").values()[0],
            curve_of("dp_ftrl(noise=3, leaves=562949953421313)").values()[0]);
}

TEST(RenyiCurve, EpsilonIsThatOfDpAccountingAndNeverBelow) {
  for (const auto& golden : privacy_golden::kGolden) {
    const double ours =
        epsilon_of(curve_of(golden.mechanisms, accounting_orders()),
                   privacy_golden::kDelta)
            .value;
    EXPECT_GE(ours, golden.renyi) << golden.mechanisms;
    EXPECT_LE(ours, golden.renyi * (1 + 1e-8)) << golden.mechanisms;
  }
}

TEST(RenyiCurve, DeltaOfEpsilonIsTheWayBack) {
  for (const char* text : {"gaussian(noise=3)",
                           "subsampled_gaussian(noise=1.1, rate=0.02, "
                           "steps=500)"}) {
    const RenyiCurve c = curve_of(text, accounting_orders());
    const double epsilon = epsilon_of(c, 1e-6).value;
    EXPECT_LE(delta_of(c, epsilon).value, 1e-6);
    EXPECT_GT(delta_of(c, epsilon * 0.999).value, 1e-6);
  }
  EXPECT_EQ(epsilon_of(RenyiCurve(budget_orders()), 1e-6).value, 0);
  EXPECT_EQ(epsilon_of(curve_of("gaussian(noise=0)"), 1e-6).value, kInfinity);
}

TEST(RenyiCurve, ATotalWithinTheCapacityAtOneOrderKeepsTheGuarantee) {
  const Guarantee guarantee{3, 1e-6};
  const RenyiCurve c = capacity(guarantee, budget_orders());
  for (std::size_t i = 0; i < c.size(); ++i) {
    std::vector<double> spent(c.size(), kInfinity);
    spent[i] = c[i];
    if (c[i] == 0) continue;
    EXPECT_LE(epsilon_of(RenyiCurve(c.orders(), spent), guarantee.delta).value,
              guarantee.epsilon);
  }
}

TEST(RenyiCurve, TheInfiniteOrderIsPurePrivacy) {
  const auto pure = [](const char* text) {
    return curve_of(text, pure_orders())[0];
  };
  EXPECT_EQ(pure("laplace(noise=2, steps=3)"), 1.5);
  EXPECT_NEAR(pure("subsampled_laplace(noise=0.5, rate=0.1)"),
              std::log(1 + 0.1 * (std::exp(2) - 1)), 1e-12);
  EXPECT_EQ(pure("gaussian(noise=2)"), kInfinity);
  EXPECT_EQ(pure("subsampled_gaussian(noise=2, rate=0.1)"), kInfinity);
  EXPECT_EQ(capacity({3, 1e-6}, pure_orders())[0], 3);
  const RenyiCurve c = curve_of("laplace(noise=2)", pure_orders());
  EXPECT_NEAR(epsilon_of(c, 1e-6).value, 0.5, 1e-9);
  EXPECT_EQ(delta_of(c, 0.5).value, 0);
  EXPECT_GT(delta_of(c, 0.4).value, 0.1);
}

TEST(RenyiCurve, OneOrderIsEnough) {
  // What is left is (-0.5, 0.3).
  const std::vector consumed = {1.5, 0.7};
  const std::vector most = {1.0, 1.0};
  EXPECT_TRUE(fits(std::vector{0.1, 0.3}, consumed, most));
  EXPECT_FALSE(fits(std::vector{0.1, 0.31}, consumed, most));
  // An order without capacity is none, whatever a curve says of it.
  const std::vector none = {0.0, 0.0};
  EXPECT_FALSE(fits(std::vector{0.0, 2.0}, none, std::vector{0.0, 1.0}));
  EXPECT_TRUE(fits(none, std::vector{0.0, 1.0}, none));
  EXPECT_TRUE(fits(none, consumed, none));
}

TEST(RenyiCurve, RefusesWhatIsNone) {
  expect_error(ErrorCode::kInvalidArgument, {"must be above 1, and ascend"},
               [] {
                 RenyiOrders({2, 2});
               });
  expect_error(ErrorCode::kInvalidArgument, {"must be above 1"}, [] {
    RenyiOrders({1, 2});
  });
  expect_error(ErrorCode::kInvalidArgument, {"none"}, [] { RenyiOrders({}); });
  expect_error(ErrorCode::kInvalidArgument, {"2 values", "12 orders"}, [] {
    RenyiCurve(budget_orders(), {1, 2});
  });
  expect_error(ErrorCode::kInvalidArgument, {"not a number"},
               [] { RenyiCurve(RenyiOrders({2}), {std::nan("")}); });
  for (const double delta : {0.0, 1.0, std::nan("")}) {
    expect_error(ErrorCode::kInvalidArgument, {"(0, 1)"}, [&] {
      capacity({1, delta}, budget_orders());
    });
  }
  expect_error(ErrorCode::kInvalidArgument, {"above 0"}, [] {
    capacity({0, 1e-6}, budget_orders());
  });
  // -ln(1e-7) / 63 is 0.2558.
  expect_error(ErrorCode::kInvalidArgument, {"leaves nothing", "0.2558"}, [] {
    capacity({0.25, 1e-7}, budget_orders());
  });
}

TEST(Mechanisms, AreReadAndWritten) {
  const char* text =
      "subsampled_gaussian(noise=1.1, rate=0.01, steps=1000) + "
      "laplace(noise=20, steps=1)";
  EXPECT_EQ(to_string(parse_mechanisms(text)), text);
  EXPECT_EQ(to_string(parse_mechanisms("gaussian(1.5)+gaussian")),
            "gaussian(noise=1.5, steps=1) + gaussian(noise=1, steps=1)");
}

TEST(Mechanisms, RefuseWhatTheyAreNot) {
  expect_error(ErrorCode::kInvalidArgument, {"gausian", "gaussian"},
               [] { parse_mechanisms("gausian(noise=1)"); });
  expect_error(ErrorCode::kInvalidArgument, {"rate", "[0, 1]"}, [] {
    parse_mechanisms("subsampled_gaussian(noise=1, rate=1.5)");
  });
  expect_error(ErrorCode::kInvalidArgument, {"noise", "at least 0"},
               [] { parse_mechanisms("gaussian(noise=-1)"); });
  expect_error(ErrorCode::kInvalidArgument, {"steps", "at least 1"},
               [] { parse_mechanisms("gaussian(noise=1, steps=0)"); });
  expect_error(ErrorCode::kInvalidArgument, {"^"},
               [] { parse_mechanisms("gaussian(noise=1) +"); });
}

}  // namespace
}  // namespace weft::renyi_curve_test
