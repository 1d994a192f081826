// What is true of a model on a test set, and which labels that takes.
#include "weft/gate/judge.h"

#include <gtest/gtest.h>
#include <random>

#include "tests/support/errors.h"

namespace weft::judge_test {
namespace {

using Labels = std::vector<std::optional<std::string>>;

GateTerms terms(const char* condition, GateMode mode = GateMode::kFpFree) {
  return {.condition = parse_gate_condition(condition),
          .reliability = 0.9,
          .mode = mode,
          .adaptivity = Adaptivity::kNone,
          .steps = 1};
}

// A plan that looks at so many points, whatever the terms say.
GatePlan plan_of(const GateTerms& terms, std::int64_t points) {
  GatePlan plan;
  plan.points = points;
  for (std::size_t i = 0; i < terms.condition.clauses.size(); ++i) {
    plan.clauses.push_back({.bound = "given", .points = points});
  }
  return plan;
}

struct Sample {
  GatePredictions predictions;
  Labels labels;
};

// Models of some accuracy that differ on some points.
Sample sample(std::uint32_t seed, std::size_t points) {
  std::mt19937 random(seed);
  Sample drawn;
  const auto draw = [&] { return std::to_string(random() % 3); };
  for (std::size_t i = 0; i < points; ++i) {
    drawn.labels.emplace_back(draw());
    drawn.predictions.old.push_back(random() % 4 == 0 ? draw()
                                                      : *drawn.labels.back());
    drawn.predictions.now.push_back(
        random() % 5 == 0 ? draw() : drawn.predictions.old.back());
  }
  return drawn;
}

TEST(GateJudge, LabelsOnlyWhereModelsDiffer) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    const Sample all = sample(seed, 200);
    const GateTerms asked =
        terms(seed % 2 == 0 ? "n - o > -0.01 +/- 0.005"
                            : "n - o < 0 +/- 0.01 /\\ d < 0.5 +/- 0.1");
    const GatePlan plan = plan_of(asked, 200);
    const GateJudge judge(asked, plan, all.predictions);
    const auto needed = judge.needed_labels();
    Labels few(200);
    std::size_t differing = 0;
    for (std::size_t i = 0; i < 200; ++i) {
      differing += all.predictions.now[i] != all.predictions.old[i];
    }
    for (const std::size_t place : needed) few[place] = all.labels[place];
    EXPECT_EQ(needed.size(), differing);
    const GateVerdict sparse = judge.judge(few);
    const GateVerdict full = judge.judge(all.labels);
    EXPECT_EQ(sparse.passed, full.passed);
    for (std::size_t i = 0; i < full.clauses.size(); ++i) {
      EXPECT_EQ(sparse.clauses[i].truth, full.clauses[i].truth);
      EXPECT_EQ(sparse.clauses[i].estimate, full.clauses[i].estimate);
    }
  }
}

TEST(GateJudge, IgnoresLabelsWhereModelsAgree) {
  const Sample drawn = sample(1, 300);
  const GateTerms asked = terms("n - o > 0 +/- 0.01");
  const GatePlan plan = plan_of(asked, 300);
  const GateJudge judge(asked, plan, drawn.predictions);
  Labels wrong = drawn.labels;
  for (std::size_t i = 0; i < 300; ++i) {
    if (drawn.predictions.now[i] == drawn.predictions.old[i]) {
      wrong[i] = "nonsense";
    }
  }
  EXPECT_EQ(judge.judge(wrong).clauses[0].estimate,
            judge.judge(drawn.labels).clauses[0].estimate);
}

TEST(GateJudge, LabelsAllWhereAccuracyCounts) {
  const Sample drawn = sample(2, 100);
  const GateTerms asked = terms("n > 0.5 +/- 0.1 /\\ n - o > 0 +/- 0.1");
  const GatePlan plan = plan_of(asked, 100);
  EXPECT_EQ(GateJudge(asked, plan, drawn.predictions).needed_labels().size(),
            100u);
}

TEST(GateJudge, NeedsNoLabelsWhereAClauseIsFalse) {
  Sample drawn = sample(3, 100);
  for (std::string& each : drawn.predictions.now) each = "other";
  const GateTerms asked =
      terms("n - o > 0 +/- 0.1 /\\ d < 0.1 +/- 0.01", GateMode::kFnFree);
  const GatePlan plan = plan_of(asked, 100);
  const GateJudge judge(asked, plan, drawn.predictions);
  EXPECT_TRUE(judge.needed_labels().empty());
  EXPECT_FALSE(judge.judge(Labels(100)).passed);
}

// 0.02 ± 0.01 on 1000 points: 31 more are right, 29 more, 9 more.
TEST(GateJudge, DecidesWhatIsUnknownByTheMode) {
  for (const auto& [gained, fp_free, fn_free] :
       {std::tuple(31, true, true), std::tuple(30, false, true),
        std::tuple(29, false, true), std::tuple(9, false, false)}) {
    Sample drawn;
    for (int i = 0; i < 1000; ++i) {
      drawn.labels.emplace_back("yes");
      drawn.predictions.old.emplace_back(i < 500 ? "yes" : "no");
      drawn.predictions.now.emplace_back(i < 500 + gained ? "yes" : "no");
    }
    for (const auto& [mode, passes] : {std::pair(GateMode::kFpFree, fp_free),
                                       std::pair(GateMode::kFnFree, fn_free)}) {
      const GateTerms asked = terms("n - o > 0.02 +/- 0.01", mode);
      const GatePlan plan = plan_of(asked, 1000);
      EXPECT_EQ(
          GateJudge(asked, plan, drawn.predictions).judge(drawn.labels).passed,
          passes)
          << gained;
    }
  }
}

TEST(GateJudge, IsFalseWhereOneIsFalseAndOneUnknown) {
  Sample drawn;
  for (int i = 0; i < 100; ++i) {
    drawn.labels.emplace_back("yes");
    drawn.predictions.now.emplace_back(i < 50 ? "yes" : "no");
  }
  // Unknown, and false.
  const GateTerms asked =
      terms("n > 0.5 +/- 0.1 /\\ n > 0.9 +/- 0.1", GateMode::kFnFree);
  const GatePlan plan = plan_of(asked, 100);
  const GateVerdict verdict =
      GateJudge(asked, plan, drawn.predictions).judge(drawn.labels);
  EXPECT_EQ(verdict.clauses[0].truth, Truth::kUnknown);
  EXPECT_EQ(verdict.clauses[1].truth, Truth::kFalse);
  EXPECT_FALSE(verdict.passed);
}

TEST(GateJudge, RefusesTooFewPoints) {
  const GateTerms asked = terms("n - o > 0.02 +/- 0.1");
  const GatePlan plan = plan_gate(asked);
  const auto points = static_cast<std::size_t>(plan.points);
  const Sample enough = sample(4, points);
  EXPECT_NO_THROW(GateJudge(asked, plan, enough.predictions));
  const Sample too_few = sample(4, points - 1);
  test::expect_error(ErrorCode::kUnavailable, {"points"},
                     [&] { GateJudge(asked, plan, too_few.predictions); });
}

TEST(GateJudge, LeavesUnknownWhatDiffersMoreThanExpected) {
  GateTerms asked = terms("n - o > 0 +/- 0.1");
  Sample drawn = sample(5, 400);
  GatePlan plan = plan_of(asked, 100);
  plan.points = 200;
  plan.clauses[0].filter = DifferenceFilter{200, 0.5};
  plan.clauses[0].points_without = 400;
  const auto judged_on = [&] {
    return GateJudge(asked, plan, drawn.predictions)
        .judge(drawn.labels)
        .clauses[0]
        .points;
  };
  EXPECT_EQ(judged_on(), 100);
  for (std::string& each : drawn.predictions.now) each = "other";
  EXPECT_EQ(judged_on(), 400);
  plan.clauses[0].points_without = 401;
  EXPECT_EQ(judged_on(), 0);
}

TEST(GateJudge, KnowsNoOldModelAtFirst) {
  Sample drawn = sample(6, 100);
  drawn.predictions.old.clear();
  const GateTerms gain = terms("n - o > 0 +/- 0.1");
  const GatePlan plan = plan_of(gain, 100);
  test::expect_error(ErrorCode::kInvalidArgument, {"no old model", "'o'"},
                     [&] { GateJudge(gain, plan, drawn.predictions); });
  const GateTerms floor = terms("n > 0.5 +/- 0.1");
  EXPECT_TRUE(
      GateJudge(floor, plan, drawn.predictions).judge(drawn.labels).passed);
}

}  // namespace
}  // namespace weft::judge_test
