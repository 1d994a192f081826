// Verdicts on models whose truth is known are wrong as seldom as was promised.
#include "weft/gate/simulation.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace weft::simulation_test {
namespace {

constexpr std::int64_t kHistories = 4000;

GateTerms terms(const char* condition, GateMode mode, Adaptivity adaptivity,
                std::int64_t steps = 8) {
  return {.condition = parse_gate_condition(condition),
          .reliability = 0.95,
          .mode = mode,
          .adaptivity = adaptivity,
          .steps = steps};
}

class EveryPromise
    : public testing::TestWithParam<std::tuple<GateMode, Adaptivity>> {};

// Models on the edge of the condition, where a verdict is wrong most easily.
TEST_P(EveryPromise, IsKept) {
  const auto& [mode, adaptivity] = GetParam();
  for (const auto& [condition, truth] :
       {std::pair("n > 0.8 +/- 0.05", TrueShares{0.8, 0.8, 0}),
        std::pair("n < 0.1 +/- 0.02", TrueShares{0.1, 0.1, 0}),
        std::pair("d < 0.1 +/- 0.02", TrueShares{0.8, 0.8, 0.1}),
        std::pair("n - o > 0.02 +/- 0.03", TrueShares{0.82, 0.8, 0.3}),
        std::pair("n - o > 0.02 +/- 0.02 /\\ d < 0.1 +/- 0.02",
                  TrueShares{0.82, 0.8, 0.09}),
        std::pair("n - 1.1 * o > 0 +/- 0.05", TrueShares{0.55, 0.5, 0.2})}) {
    const GateTerms asked = terms(condition, mode, adaptivity);
    const auto result =
        simulate_developer(asked, plan_gate(asked), truth, kHistories, 1);
    EXPECT_LE(result.wrong, 0.05 * kHistories) << condition;
    EXPECT_GE(result.verdicts, kHistories);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryPromise,
    testing::Combine(testing::Values(GateMode::kFpFree, GateMode::kFnFree),
                     testing::Values(Adaptivity::kNone,
                                     Adaptivity::kFirstChange,
                                     Adaptivity::kFull)));

// A simulation that never sees a wrong verdict would prove nothing.
TEST(Simulation, SeesWhatTooFewPointsDo) {
  const GateTerms asked =
      terms("n > 0.5 +/- 0.05", GateMode::kFpFree, Adaptivity::kNone);
  GatePlan plan = plan_gate(asked);
  plan.points = plan.labelled = plan.clauses[0].points = 200;
  const auto result =
      simulate_developer(asked, plan, {0.5, 0.5, 0}, kHistories, 1);
  EXPECT_GT(result.wrong, 0.2 * kHistories);
}

TEST(Simulation, IsTheSameForASeed) {
  const GateTerms asked =
      terms("n > 0.8 +/- 0.05", GateMode::kFpFree, Adaptivity::kFull);
  const GatePlan plan = plan_gate(asked);
  const auto run = [&](std::uint64_t seed) {
    return simulate_developer(asked, plan, {0.85, 0.8, 0.1}, 100, seed).passed;
  };
  EXPECT_EQ(run(3), run(3));
  EXPECT_NE(run(3), run(4));
}

TEST(Simulation, LetsModelsPassThatAreWellAbove) {
  const GateTerms asked = terms("n - o > 0.02 +/- 0.02 /\\ d < 0.1 +/- 0.02",
                                GateMode::kFpFree, Adaptivity::kFirstChange);
  const auto result =
      simulate_developer(asked, plan_gate(asked), {0.86, 0.8, 0.07}, 500, 1);
  // The first pass ends each history.
  EXPECT_GT(result.passed, 450);
  EXPECT_LT(result.verdicts, 700);
  EXPECT_EQ(result.wrong, 0);
  EXPECT_NEAR(result.labels,
              0.07 * static_cast<double>(plan_gate(asked).labelled), 5);
}

TEST(Attacker, GainsFromASetThatIsReusedWithoutCare) {
  const GateTerms once =
      terms("n > 0.4 +/- 0.1", GateMode::kFpFree, Adaptivity::kFull, 1);
  const GateTerms many =
      terms("n > 0.4 +/- 0.1", GateMode::kFpFree, Adaptivity::kFull, 64);
  const auto naive =
      simulate_attacker(many, plan_gate(once).points, kHistories, 1);
  EXPECT_GT(naive.wrong, 0.9 * kHistories);
  const auto honest =
      simulate_attacker(once, plan_gate(once).points, kHistories, 1);
  EXPECT_LE(honest.wrong, 0.05 * kHistories);
}

TEST(Attacker, GainsNothingFromOneThatIsLargeEnough) {
  for (const char* condition :
       {"n > 0.4 +/- 0.1", "n > 0.6 +/- 0.1", "n > 0.2 +/- 0.1"}) {
    for (const std::int64_t steps : {4, 16, 64}) {
      const GateTerms asked =
          terms(condition, GateMode::kFpFree, Adaptivity::kFull, steps);
      EXPECT_LE(
          simulate_attacker(asked, plan_gate(asked).points, 1000, 1).wrong, 50)
          << condition << " " << steps;
    }
  }
}

TEST(Simulation, RefusesWhatCannotBe) {
  const GateTerms asked =
      terms("n - o > 0 +/- 0.1", GateMode::kFpFree, Adaptivity::kFull);
  test::expect_error(ErrorCode::kInvalidArgument, {"no two models"}, [&] {
    simulate_developer(asked, plan_gate(asked), {0.9, 0.5, 0.1}, 1, 1);
  });
  test::expect_error(ErrorCode::kInvalidArgument, {"n > c +/- e"},
                     [&] { simulate_attacker(asked, 100, 1, 1); });
}

}  // namespace
}  // namespace weft::simulation_test
