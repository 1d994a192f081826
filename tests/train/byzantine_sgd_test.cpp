// Rules with a memory: thresholds, who is dropped and when, and checkpoints.
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

#include "tests/support/errors.h"
#include "tests/support/rule_steps.h"
#include "tests/support/training_runs.h"

#include "weft/base/parallel.h"
#include "weft/base/philox.h"
#include "weft/train/sync/byzantine_bounds.h"
#include "weft/train/sync/exchange.h"
#include "weft/train/sync/rules.h"
#include "weft/train/sync/running_sums.h"
#include "weft/train/sync/vector_median.h"

namespace weft::byzantine_sgd_test {
namespace {

using test::message_of;
using ::testing::HasSubstr;

using Vector = std::vector<float>;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A rule and what it is told of, step after step.
class Steps {
 public:
  Steps(const std::string& text, int workers, std::size_t size)
      : rule_(text, workers, size, /*seed=*/7), parameters_(size, 0.0f) {}

  // What stands for the mean of the workers' gradients.
  Vector step(const std::vector<Vector>& gradients) {
    return rule_.mean_of(gradients, parameters_);
  }

  Vector& parameters() { return parameters_; }
  double selected() const { return rule_.figures().selected; }
  double margin() const { return rule_.figures().margin; }
  double product(std::size_t i) const {
    return rule_.rule().shared_slots()[0].span<double>()[i];
  }
  std::span<double> sum(std::size_t i) const {
    return rule_.rule().slots()[i].span<double>();
  }
  // As of a checkpoint of another.
  void restore(const Steps& other) {
    rule_.restore(other.rule_);
    parameters_ = other.parameters_;
  }

 private:
  test::RuleSteps rule_;
  Vector parameters_;
};

// Unit noise of a worker in a step, around `mean` in each of `size` entries.
Vector noisy(std::size_t size, double mean, std::uint32_t worker,
             std::uint32_t step) {
  const RandomStream random{11, worker, step};
  Vector result(size);
  double length = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const auto words = random.block(i);
    result[i] = normal_from(words[0], words[1])[0];
    length += static_cast<double>(result[i]) * static_cast<double>(result[i]);
  }
  for (float& value : result) {
    value = static_cast<float>(mean +
                               static_cast<double>(value) / std::sqrt(length));
  }
  return result;
}

// --- Parts
// ----------------------------------------------------------------------

TEST(ByzantineSgd, ThresholdsAreThoseOfTheTheorem) {
  const auto bounds = [](double v, double d, std::int64_t horizon) {
    return ByzantineBounds(complete(
        ByzantineBounds::options(),
        {{"v", v}, {"d", d}, {"horizon", horizon}, {"delta", 0.01}}, "test"));
  };
  // log(16 * 10 * 1e4 / 0.01) = 18.9, 4 sqrt(1e4 * 18.9) = 1739.
  EXPECT_NEAR(bounds(1, 2, 10'000).gradients_tube(10, 0), 1739, 1);
  EXPECT_NEAR(bounds(2, 2, 10'000).gradients_tube(10, 0), 2 * 1739, 2);
  EXPECT_EQ(bounds(1, 2, 10'000).gradients_tube(10, 0),
            bounds(1, 9, 10'000).gradients_tube(10, 0));
  EXPECT_EQ(bounds(1, 8, 100).radius_of(2), 2);
  EXPECT_EQ(bounds(1, 8, 100).horizon_of(2), 1600);
}

TEST(ByzantineSgd, FindsAVectorThatMostAreNear) {
  const double places[] = {50, 0, 60, 1, 2, 1.5, 70};
  VectorMedian median(7, 3, 0);
  const auto search = [&](double radius) {
    int trials = 0;
    while (!median.is_over()) {
      std::vector<double> squared;
      for (const double place : places) {
        squared.push_back(std::pow(place - places[median.candidate()], 2));
      }
      median.look(squared, radius * radius);
      ++trials;
    }
    return trials;
  };
  median.begin(0);
  EXPECT_LE(search(2), 7);
  ASSERT_TRUE(median.is_found());
  EXPECT_LE(places[median.last()], 2);
  // The one that was found does again.
  median.begin(1);
  EXPECT_EQ(search(2), 1);
  // Each is tried once where none does.
  median.begin(2);
  EXPECT_EQ(search(0.1), 7);
  EXPECT_FALSE(median.is_found());
  EXPECT_LE(places[median.last()], 2);
}

TEST(ByzantineSgd, KeepsSumsThatAreExactInF64) {
  const std::size_t size = 1003;
  Vector gradient(size, 0.1f);
  std::vector<double> moved(size, 2.0);
  std::vector<double> sum(size, 0.0);
  double product = 0;
  for (int k = 0; k < 1000; ++k) product += add_gradient(gradient, moved, sum);
  const double each = 1000 * static_cast<double>(0.1f);
  for (const double value : sum) EXPECT_NEAR(value, each, 1e-9 * each);
  EXPECT_NEAR(product, 2 * each * size, 1e-9 * product);
  const std::vector<double> before = sum;
  gradient[1002] = kNan;
  EXPECT_TRUE(std::isnan(add_gradient(gradient, moved, sum)));
  EXPECT_EQ(sum, before);
  std::vector<double> other(size, 0.0);
  EXPECT_NEAR(squared_distance(std::span<const double>(sum),
                               std::span<const double>(other)),
              each * each * size, 1e-9 * each * each * size);
}

// --- Who is dropped
// --------------------------------------------------------------

TEST(ByzantineSgd, IsThePlainSumWhileNobodyLies) {
  Steps steps("byzantine_sgd(v=1, d=10, horizon=300)", 6, 40);
  for (std::uint32_t k = 0; k < 300; ++k) {
    std::vector<Vector> gradients;
    Vector sum(40, 0.0f);
    for (std::uint32_t i = 0; i < 6; ++i) {
      gradients.push_back(noisy(40, 0.2, i, k));
      for (std::size_t j = 0; j < 40; ++j) sum[j] += gradients[i][j] / 6;
    }
    EXPECT_EQ(steps.step(gradients), sum);
    EXPECT_EQ(steps.selected(), 6);
    EXPECT_LT(steps.margin(), 1);
    for (float& value : steps.parameters())
      value = 0.01f * static_cast<float>(k % 50);
  }
}

// More than 8 V from every right one is out at once; within 4 V it stays.
TEST(ByzantineSgd, DropsAtOnceWhoIsFarFromMost) {
  for (const float far :
       {9.0f, 1e30f, kNan, std::numeric_limits<float>::infinity()}) {
    Steps steps("byzantine_sgd(v=1)", 5, 1);
    EXPECT_FLOAT_EQ(steps.step({{1}, {0.5f}, {far}, {1.5f}, {1}})[0], 0.8f);
    EXPECT_EQ(steps.selected(), 4);
    // Once out, it stays out whatever it says.
    EXPECT_FLOAT_EQ(steps.step({{1}, {0.5f}, {1}, {1.5f}, {1}})[0], 0.8f);
    EXPECT_TRUE(std::isfinite(steps.sum(2)[0]));
    EXPECT_TRUE(std::isfinite(steps.product(2)));
  }
  Steps steps("byzantine_sgd(v=1)", 5, 1);
  steps.step({{1}, {0.5f}, {3.5f}, {1.5f}, {1}});
  EXPECT_EQ(steps.selected(), 5);
}

// The step shrinks with those that are out: what is left is not scaled up.
TEST(ByzantineSgd, DividesByTheNumberOfAll) {
  Steps steps("byzantine_sgd(alpha=0.4, v=0.1)", 5, 1);
  EXPECT_FLOAT_EQ(steps.step({{2}, {2}, {2}, {50}, {-50}})[0], 6.0f / 5);
}

// A bias that no single step shows is found in the sums, after about
// 2 T_B / bias steps.
TEST(ByzantineSgd, FindsABiasWithinTheNoise) {
  constexpr int kHorizon = 4000;
  Steps steps(
      "byzantine_sgd(alpha=0.2, v=1, d=10, horizon=4000, "
      "calibration=0.2)",
      10, 20);
  int found = 0;
  for (std::uint32_t k = 0; k < kHorizon; ++k) {
    std::vector<Vector> gradients;
    for (std::uint32_t i = 0; i < 10; ++i)
      gradients.push_back(noisy(20, 0, i, k));
    // V in a direction of its own.
    gradients[4].assign(20, 0.0f);
    gradients[4][3] = 1;
    steps.step(gradients);
    if (found == 0 && steps.selected() < 10) found = static_cast<int>(k);
  }
  EXPECT_EQ(steps.selected(), 9);
  const double tube =
      0.2 * 4 * std::sqrt(4000 * std::log(16 * 10 * 4000 / 0.05));
  EXPECT_GT(found, tube);
  EXPECT_LT(found, 4 * tube);
}

// The sum of products finds who pushes the model away from where it began.
TEST(ByzantineSgd, FindsWhoPushesOutwards) {
  Steps steps(
      "byzantine_sgd(alpha=0.2, v=1, d=10, horizon=100, "
      "calibration=0.02)",
      5, 1);
  steps.step({{0}, {0}, {0}, {0}, {0}});
  steps.parameters()[0] = 10;
  double product = 0;
  for (int k = 1; k < 60 && steps.selected() == 5; ++k) {
    steps.step({{0.1f}, {-0.1f}, {0}, {0}, {-1}});
    product -= 10;
    EXPECT_NEAR(steps.product(4), product, 1e-5);
  }
  EXPECT_EQ(steps.selected(), 4);
}

TEST(ByzantineSgd, WithoutAMajorityNobodyIsJudged) {
  Steps steps("byzantine_sgd(v=1)", 4, 1);
  // Two and two, far from each other.
  EXPECT_FLOAT_EQ(steps.step({{0}, {0}, {90}, {90}})[0], 45);
  EXPECT_EQ(steps.selected(), 4);
}

TEST(ByzantineSgd, WhoHasNotComeIsNotJudged) {
  Steps steps("byzantine_sgd(v=1)", 5, 1);
  EXPECT_FLOAT_EQ(steps.step({{1}, {1}, {}, {1}, {1}})[0], 1);
  EXPECT_EQ(steps.selected(), 5);
  EXPECT_FLOAT_EQ(steps.step({{1}, {1}, {1}, {1}, {1}})[0], 1);
}

// --- What ends a run
// -------------------------------------------------------------

TEST(ByzantineSgd, SaysWhatItsTheoremLacks) {
  const std::vector<Vector> same(5, Vector{1});
  Steps away("byzantine_sgd(d=2)", 5, 1);
  away.step(same);
  away.parameters()[0] = 2;
  away.step(same);
  away.parameters()[0] = 2.1f;
  EXPECT_THAT(message_of([&] { away.step(same); }),
              HasSubstr("parameters are 2.1 from where they began in step 3, "
                        "and byzantine_sgd was told that they stay within d"));
  Steps beyond("byzantine_sgd(horizon=2)", 5, 1);
  beyond.step(same);
  beyond.step(same);
  EXPECT_THAT(message_of([&] { beyond.step(same); }),
              HasSubstr("step 3 is beyond the horizon"));
  Steps many("byzantine_sgd(alpha=0.2, v=0.1)", 5, 1);
  EXPECT_THAT(message_of([&] {
                many.step({{1}, {1}, {1}, {9}, {-9}});
              }),
              HasSubstr("found 2 of 5 workers out, which is more than"));
}

TEST(ByzantineSgd, RefusesWhatItProvesNothingOf) {
  const auto refusal = [](const char* rule, const char* policy, int workers) {
    SyncRecipe recipe;
    recipe.rule = rule;
    recipe.policy = policy;
    return message_of([&] {
      check_sync(recipe, *make_optimizer("sgd", {}));
      check_ranks(recipe, workers);
    });
  };
  EXPECT_THAT(refusal("byzantine_sgd(alpha=0.5)", "server", 4),
              HasSubstr("'alpha' = 0.5 must be in [0, 0.5)"));
  EXPECT_THAT(refusal("byzantine_sgd", "server", 1),
              HasSubstr("alpha = 0, or more workers"));
  EXPECT_THAT(refusal("byzantine_sgd", "local_sgd", 4),
              HasSubstr("what travels are changes of copies"));
  EXPECT_THAT(refusal("safeguard(window=10, long_window=5)", "server", 4),
              HasSubstr("long_window = 60"));
  EXPECT_EQ(refusal("byzantine_sgd(alpha=0)", "server", 1),
            "nothing was thrown");
}

// --- Going on
// --------------------------------------------------------------------

TEST(ByzantineSgd, GoesOnFromACheckpoint) {
  const char* rule =
      "byzantine_sgd(alpha=0.4, v=1, horizon=200, "
      "calibration=0.05)";
  const auto gradients = [](std::uint32_t k) {
    std::vector<Vector> result;
    for (std::uint32_t i = 0; i < 5; ++i) result.push_back(noisy(8, 0, i, k));
    result[3].assign(8, 0.3f);
    return result;
  };
  Steps whole(rule, 5, 8);
  Steps first(rule, 5, 8);
  for (std::uint32_t k = 0; k < 30; ++k) {
    whole.step(gradients(k));
    first.step(gradients(k));
  }
  Steps second(rule, 5, 8);
  second.restore(first);
  for (std::uint32_t k = 30; k < 120; ++k) {
    EXPECT_EQ(second.step(gradients(k)), whole.step(gradients(k)));
    EXPECT_EQ(second.margin(), whole.margin());
  }
  EXPECT_EQ(whole.selected(), 4);
  Steps other("byzantine_sgd(alpha=0.4, v=1, horizon=400, calibration=0.05)", 5,
              8);
  EXPECT_THAT(message_of([&] { other.restore(first); }),
              HasSubstr("declines other v, d, horizon"));
}

TEST(ByzantineSgd, RestartsWithNobodyOut) {
  Steps steps("byzantine_sgd(alpha=0.2, v=0.1, d=4, horizon=3, restarts=true)",
              5, 1);
  const std::vector<Vector> lied{{1}, {1}, {1}, {1}, {9}};
  const std::vector<Vector> same(5, Vector{1});
  EXPECT_FLOAT_EQ(steps.step(lied)[0], 0.8f);
  steps.step(same);
  steps.parameters()[0] = 3;
  EXPECT_FLOAT_EQ(steps.step(same)[0], 0.8f);
  // Phase 1 has 12 steps, and begins where the model is.
  EXPECT_FLOAT_EQ(steps.step(same)[0], 1);
  steps.parameters()[0] = 5;
  steps.step(same);
  EXPECT_FLOAT_EQ(static_cast<float>(steps.product(0)), 2);
  steps.parameters()[0] = 5.1f;
  EXPECT_THAT(message_of([&] { steps.step(same); }), HasSubstr("within d = 2"));
}

// With a v that is too small nobody is near to most, and nobody is judged by
// that; what is no number would be in the model for ever.
TEST(ByzantineSgd, DropsWhatIsNoNumberWhereverOthersAre) {
  Steps steps("byzantine_sgd(alpha=0.2, v=0.001, d=10, horizon=100)", 5, 1);
  EXPECT_FLOAT_EQ(steps.step({{1}, {2}, {kNan}, {4}, {8}})[0], 3);
  EXPECT_EQ(steps.selected(), 4);
  EXPECT_FLOAT_EQ(steps.step({{1}, {2}, {5}, {4}, {8}})[0], 3);
}

// --- Safeguard
// -------------------------------------------------------------------

TEST(Safeguard, FindsABiasInItsWindows) {
  for (const char* rule : {"safeguard(window=50, long_window=400)",
                           "safeguard(window=50, long_window=400, threshold=3, "
                           "long_threshold=8)"}) {
    Steps steps(rule, 10, 20);
    for (std::uint32_t k = 0; k < 800; ++k) {
      std::vector<Vector> gradients;
      for (std::uint32_t i = 0; i < 10; ++i) {
        gradients.push_back(noisy(20, 0, i, k));
      }
      for (const std::size_t liar : {2, 5, 9}) {
        gradients[liar].assign(20, 0.0f);
        gradients[liar][3] = 1;
      }
      steps.step(gradients);
    }
    EXPECT_EQ(steps.selected(), 7) << rule;
  }
}

TEST(Safeguard, IsTheMeanOfWhoIsGood) {
  Steps steps("safeguard", 5, 1);
  EXPECT_FLOAT_EQ(steps.step({{1}, {2}, {kNan}, {1.5f}, {2}})[0], 6.5f / 4);
  EXPECT_FLOAT_EQ(steps.step({{1}, {2}, {1}, {1.5f}, {2}})[0], 6.5f / 4);
}

TEST(Safeguard, GivesAnotherChance) {
  Steps steps("safeguard(window=2, long_window=2, reset=4)", 5, 1);
  const std::vector<Vector> same{{1}, {2}, {1.5f}, {1.5f}, {2}};
  std::vector<Vector> ill = same;
  ill[2] = {50};
  steps.step(ill);
  EXPECT_EQ(steps.selected(), 4);
  steps.step(same);
  steps.step(same);
  EXPECT_EQ(steps.selected(), 4);
  steps.step(same);
  EXPECT_EQ(steps.selected(), 5);
  EXPECT_FLOAT_EQ(steps.step(same)[0], 1.6f);
}

// So it is where thresholds are too small for anybody to be judged by them.
TEST(Safeguard, DropsWhatIsNoNumberWhereverOthersAre) {
  Steps steps("safeguard(threshold=0.001, long_threshold=0.001)", 5, 1);
  EXPECT_FLOAT_EQ(steps.step({{1}, {2}, {kNan}, {4}, {8}})[0], 3.75f);
  EXPECT_EQ(steps.selected(), 4);
  EXPECT_FLOAT_EQ(steps.step({{1}, {2}, {5}, {4}, {8}})[0], 3.75f);
}

// Who gets another chance is judged by what comes then, before it is used.
TEST(Safeguard, TakesNobodyBackUnseen) {
  Steps steps("safeguard(reset=4)", 5, 1);
  const std::vector<Vector> same{{1}, {2}, {1.5f}, {1.5f}, {2}};
  std::vector<Vector> ill = same;
  ill[2] = {kNan};
  for (int k = 0; k < 7; ++k) EXPECT_FLOAT_EQ(steps.step(ill)[0], 6.5f / 4);
  EXPECT_EQ(steps.selected(), 4);
  // It has come back well, and what it was before counts no more.
  for (int k = 0; k < 5; ++k) EXPECT_FLOAT_EQ(steps.step(same)[0], 1.6f);
  EXPECT_EQ(steps.selected(), 5);
}

TEST(Safeguard, AddsNoiseThatIsTheSameEverywhere) {
  Steps a("safeguard(noise=0.5)", 3, 2000);
  Steps b("safeguard(noise=0.5)", 3, 2000);
  const std::vector<Vector> same(3, Vector(2000, 1.0f));
  const Vector noise = a.step(same);
  EXPECT_EQ(noise, b.step(same));
  double mean = 0;
  double squares = 0;
  for (const float value : noise) {
    mean += static_cast<double>(value - 1) / 2000;
    squares += std::pow(static_cast<double>(value - 1), 2) / 2000;
  }
  EXPECT_NEAR(mean, 0, 0.05);
  EXPECT_NEAR(squares, 0.25, 0.03);
  EXPECT_NE(a.step(same), noise);
}

// --- In training
// -------------------------------------------------------------------

constexpr const char* kProjected =
    "optimizer.wrap=[\"project(onto=ball(radius=5), around=start)\"]";

test::TrainingRuns digits() {
  return test::TrainingRuns(R"toml(
[model]
name = "mlp"
hidden = [16]
[data]
name = "digits"
[optimizer]
name = "sgd"
lr = 0.1
wrap = ["project(onto=ball(radius=5), around=start)", "average"]
[train]
epochs = 4
batch = 50
[sync]
policy = "server"
rule = "byzantine_sgd(alpha=0.2, v=20, d=10, horizon=200)"
topology = "5@1us,1GB/s"
bucket_bytes = 2048
[simulate]
network = "5@1us,1GB/s"
compute = "constant(1ms)"
)toml");
}

TEST(ByzantineSgd, ResumesATrainingToTheBit) {
  for (const char* policy : {"server", "allreduce"}) {
    for (const std::string rule :
         {"byzantine_sgd(alpha=0.2, v=20, d=10, horizon=200)",
          "safeguard(window=20, long_window=70, slack=3)"}) {
      const auto runs = digits();
      std::vector<std::string> all{"sync.rule=" + rule,
                                   std::string("sync.policy=") + policy};
      // What is measured with must be with each worker.
      if (std::string(policy) == "server") all.push_back(kProjected);
      auto two = all;
      two.push_back("train.epochs=2");
      const TrainResult whole = runs.simulate("whole", all);
      EXPECT_GT(whole.test.get("accuracy"), 0.5) << rule;
      runs.simulate("parts", two);
      runs.simulate("parts", all, /*is_resumed=*/true);
      runs.expect_same_bits("whole", "parts");
      // Another number of servers goes on with the same sums.
      if (std::string(policy) != "server") continue;
      runs.simulate("apart", two);
      auto apart = all;
      apart.insert(apart.end(),
                   {"sync.servers=2", "simulate.network=\"7@1us,1GB/s\"",
                    "sync.topology=\"7@1us,1GB/s\""});
      runs.simulate("apart", apart, /*is_resumed=*/true);
      runs.expect_same_bits("whole", "apart", /*with_sync=*/false);
      // Another number of workers cannot.
      runs.simulate("fewer", two);
      auto fewer = all;
      fewer.insert(fewer.end(), {"simulate.network=\"4@1us,1GB/s\"",
                                 "sync.topology=\"4@1us,1GB/s\""});
      EXPECT_THAT(message_of([&] { runs.simulate("fewer", fewer, true); }),
                  HasSubstr("go on with as many workers as before"));
    }
  }
}

}  // namespace
}  // namespace weft::byzantine_sgd_test
