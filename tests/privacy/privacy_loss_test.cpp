// Privacy losses: closed forms, brute force, dp-accounting, and accountants.
#include "weft/privacy/privacy_loss.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "tests/privacy/golden.h"
#include "tests/support/errors.h"

#include "weft/privacy/accountant.h"
#include "weft/privacy/fourier.h"
#include "weft/privacy/hockey_stick.h"
#include "weft/privacy/loss_sum.h"

namespace weft::privacy_loss_test {
namespace {

using namespace weft::privacy;
using test::expect_error;

double losses_epsilon(const char* mechanisms, double delta) {
  return privacy_losses(parse_mechanisms(mechanisms)).epsilon(delta);
}

TEST(Fourier, IsItsDefinitionAndBack) {
  constexpr std::size_t kSize = 16;
  std::vector<std::complex<double>> x(kSize);
  for (std::size_t n = 0; n < kSize; ++n)
    x[n] = {std::sin(3.0 * static_cast<double>(n) + 1),
            std::cos(static_cast<double>(n * n))};
  auto transformed = x;
  const Fourier fourier(kSize);
  fourier.transform(transformed);
  for (std::size_t k = 0; k < kSize; ++k) {
    std::complex<double> sum = 0;
    for (std::size_t n = 0; n < kSize; ++n)
      sum += x[n] * std::polar(1.0, -2 * std::numbers::pi *
                                        static_cast<double>(n * k) / kSize);
    EXPECT_LT(std::abs(sum - transformed[k]), 1e-13) << k;
  }
  fourier.invert(transformed);
  for (std::size_t n = 0; n < kSize; ++n)
    EXPECT_LT(std::abs(transformed[n] - x[n]), 1e-15) << n;
}

TEST(Fourier, StaysWithinItsError) {
  constexpr std::size_t kSize = 1 << 14;
  // The transform of one pulse is known exactly.
  std::vector<std::complex<double>> x(kSize);
  x[1234] = 1;
  const Fourier fourier(kSize);
  fourier.transform(x);
  double worst = 0;
  for (std::size_t k = 0; k < kSize; ++k) {
    const double turns =
        static_cast<double>(k * 1234 % kSize) / static_cast<double>(kSize);
    worst = std::max(
        worst, std::abs(x[k] - std::polar(1.0, -2 * std::numbers::pi * turns)));
  }
  EXPECT_LT(worst, fourier.error());
  EXPECT_GT(worst, fourier.error() / 1000);
}

TEST(LossSum, IsTheConvolutionFromAbove) {
  const std::vector<double> a = {0.25, 0.5, 0, 0.25};
  const std::vector<double> b = {0.9, 0, 0.1};
  // b + a + a + a, term by term.
  std::vector<double> exact = b;
  for (int i = 0; i < 3; ++i) {
    std::vector<double> next(exact.size() + a.size() - 1);
    for (std::size_t j = 0; j < exact.size(); ++j)
      for (std::size_t k = 0; k < a.size(); ++k) next[j + k] += exact[j] * a[k];
    exact = next;
  }
  const std::vector<LossTerm> terms = {{a, -2, 3}, {b, 5, 1}};
  const LossWindow window = loss_window(terms);
  EXPECT_EQ(window.lowest, -1);
  EXPECT_EQ(window.points(), exact.size());
  const std::vector<double> found = loss_sum(terms, window);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_GE(found[i], exact[i]);
    EXPECT_LE(found[i], exact[i] + 1e-13);
  }
}

TEST(LossSum, RareLossesKeepTheirDigits) {
  // A binomial distribution, whose upper tail is far below what a transform of
  // it can tell from rounding.
  const std::vector<double> coin = {0.5, 0.5};
  const std::vector<LossTerm> terms = {{coin, 0, 1000}};
  const LossWindow window = loss_window(terms);
  const std::vector<double> found = loss_sum(terms, window);
  for (std::int64_t n = 500; n <= window.highest; n += 5) {
    const auto k = static_cast<double>(n);
    const double exact = std::exp(std::lgamma(1001) - std::lgamma(k + 1) -
                                  std::lgamma(1001 - k) - 1000 * std::log(2));
    const double at = found[static_cast<std::size_t>(n - window.lowest)];
    EXPECT_GE(at, exact * (1 - 1e-11)) << n;
    EXPECT_LE(at, exact * 1.001) << n;
  }
}

TEST(LossSum, TheWindowLeavesOutNoMoreThanItSays) {
  // Rare large losses, which a normal distribution would not have.
  std::vector<double> masses(2000);
  masses[10] = 1 - 1e-6;
  masses[1999] = 1e-6;
  const LossTerm term{masses, 0, 100};
  const LossWindow window = loss_window({&term, 1});
  // Two of a hundred are that large with a chance of 5e-9, three 1.6e-13, four
  // 4e-18.
  EXPECT_GE(window.highest, 97 * 10 + 3 * 1999);
  EXPECT_LE(window.highest, 95 * 10 + 5 * 1999);
}

// P's mass and Q's, and that nothing lies below either.
TEST(PrivacyLoss, KeepsTheProbabilities) {
  for (const char* text :
       {"gaussian(noise=1.3)", "laplace(noise=0.7)",
        "subsampled_gaussian(noise=0.9, rate=0.05)",
        "subsampled_laplace(noise=0.5, rate=0.2)", "dp_ftrl(3, leaves=100)"}) {
    for (const auto neighbour : {Neighbour::kRemoved, Neighbour::kAdded}) {
      const Mechanism mechanism = parse_mechanisms(text)[0];
      const PrivacyLoss loss(mechanism, neighbour, 1e-3);
      double p = loss.infinite_mass();
      double q = 0;
      for (std::size_t i = 0; i < loss.masses().size(); ++i) {
        const double mass = loss.masses()[i];
        p += mass;
        q += mass * std::exp(-1e-3 * (static_cast<double>(loss.lowest()) +
                                      static_cast<double>(i)));
      }
      EXPECT_NEAR(p, 1, 1e-8) << text;
      EXPECT_NEAR(q, 1, 1e-8) << text;
      for (const double epsilon : {0.0, 0.0335, 0.1, 0.7, 2.0}) {
        const double exact =
            mechanism.def->hockey_stick(mechanism.options, neighbour, epsilon);
        EXPECT_GE(loss.delta(epsilon), exact) << text << epsilon;
        EXPECT_NEAR(loss.delta(epsilon), exact, 1e-5) << text << epsilon;
      }
    }
  }
}

TEST(PrivacyLoss, ManyGaussiansAreOne) {
  const std::pair<double, int> cases[] = {
      {1, 1}, {5, 10}, {40, 1000}, {20, 1000}, {200, 20'000}};
  for (const auto& [noise, steps] : cases) {
    const double whole = noise / std::sqrt(steps);
    const PrivacyLosses losses = privacy_losses(parse_mechanisms(
        fmt::format("gaussian(noise={}, steps={})", noise, steps)));
    for (const double delta : {1e-5, 1e-9}) {
      const double epsilon = losses.epsilon(delta);
      // The exact one is at most it, and is not one below it.
      EXPECT_LE(gaussian_hockey_stick(whole, epsilon), delta);
      EXPECT_GT(gaussian_hockey_stick(whole, epsilon * 0.9995), delta)
          << noise << " " << steps << " " << delta << " " << epsilon;
    }
  }
}

TEST(PrivacyLoss, EpsilonIsThatOfDpAccountingAndNeverBelow) {
  for (const auto& golden : privacy_golden::kGolden) {
    if (golden.loss > 30) continue;  // with more, on a wider grid
    const double ours =
        losses_epsilon(golden.mechanisms, privacy_golden::kDelta);
    EXPECT_GE(ours, golden.loss) << golden.mechanisms;
    EXPECT_LE(ours, golden.loss * 1.00001) << golden.mechanisms;
    // Rényi curves are above.
    EXPECT_LT(ours, golden.renyi) << golden.mechanisms;
  }
}

TEST(PrivacyLoss, DeltaOfEpsilonIsTheWayBack) {
  const PrivacyLosses losses = privacy_losses(
      parse_mechanisms("subsampled_gaussian(noise=1, rate=0.02, steps=300)"));
  const double epsilon = losses.epsilon(1e-6);
  EXPECT_NEAR(losses.delta(epsilon), 1e-6, 1e-12);
  EXPECT_GT(losses.removed.epsilon(1e-6), losses.added.epsilon(1e-6));
}

TEST(PrivacyLoss, EndsOfNoiseAndRate) {
  EXPECT_EQ(losses_epsilon("gaussian(noise=0)", 1e-6),
            std::numeric_limits<double>::infinity());
  EXPECT_EQ(losses_epsilon("subsampled_gaussian(noise=1, rate=0)", 1e-6), 0);
  EXPECT_EQ(losses_epsilon("gaussian(noise=100)", 0.5), 0);
  // Without noise and in one step of a hundred, a person is seen in 1 %.
  EXPECT_NEAR(privacy_losses(
                  parse_mechanisms("subsampled_gaussian(noise=0, rate=0.01)"))
                  .delta(0),
              0.01, 1e-9);
}

TEST(Accountant, TheLeastNoiseKeepsTheGuaranteeAndNoLess) {
  for (const auto accounting : {Accounting::kRenyi, Accounting::kLoss}) {
    for (const Guarantee guarantee :
         {Guarantee{3, 1e-5}, Guarantee{0.1, 1e-7}}) {
      const Mechanisms found = with_least_noise(
          parse_mechanisms(
              "subsampled_gaussian(noise=1, rate=0.01, steps=500)"),
          guarantee, accounting);
      EXPECT_LE(epsilon_of(found, guarantee.delta, accounting),
                guarantee.epsilon);
      Mechanisms less = found;
      std::get<double>(less[0].options["noise"]) /= 1.001;
      EXPECT_GT(epsilon_of(less, guarantee.delta, accounting),
                guarantee.epsilon);
    }
  }
}

TEST(Accountant, AllNoisesKeepTheirRatio) {
  const Mechanisms found =
      with_least_noise(parse_mechanisms("gaussian(noise=2) + laplace(noise=1)"),
                       {1, 1e-5}, Accounting::kRenyi);
  EXPECT_DOUBLE_EQ(option<double>(found[0].options, "noise"),
                   2 * option<double>(found[1].options, "noise"));
}

TEST(Accountant, FindsNoiseWhoseSquareIsNoDouble) {
  const Mechanisms found = with_least_noise(parse_mechanisms("laplace"),
                                            {1e200, 1e-5}, Accounting::kRenyi);
  EXPECT_NEAR(option<double>(found[0].options, "noise") * 1e200, 1, 1e-2);
}

TEST(Accountant, RefusesWhatCannotBe) {
  const auto least = [](const char* text, Guarantee guarantee) {
    return with_least_noise(parse_mechanisms(text), guarantee,
                            Accounting::kLoss);
  };
  expect_error(ErrorCode::kInvalidArgument, {"no noise", "noise=1"}, [&] {
    least("gaussian(noise=0)", {1, 1e-5});
  });
  expect_error(ErrorCode::kInvalidArgument, {"above 0"}, [&] {
    least("gaussian", {0, 1e-5});
  });
  expect_error(ErrorCode::kInvalidArgument, {"(0, 1)"}, [&] {
    least("gaussian", {1, 0});
  });
  // Five in a million have no more than 5e-6 of a chance to be seen at all.
  for (const char* few : {"subsampled_gaussian(rate=1e-6, steps=5)",
                          "subsampled_laplace(rate=0)"}) {
    expect_error(ErrorCode::kInvalidArgument, {"without any", "people"}, [&] {
      least(few, {1, 1e-5});
    });
  }
  expect_error(ErrorCode::kInvalidArgument, {"moments", "rdp and pld"},
               [] { accounting_of("moments"); });
}

}  // namespace
}  // namespace weft::privacy_loss_test
