// What is told of a run's messages is what it sends.
#include "weft/train/traffic_forecast.h"

#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/errors.h"
#include "tests/support/worker_runs.h"

namespace weft::traffic_forecast_test {
namespace {

constexpr int kWorkers = 3;
// mlp: 64 to 32 to 10, with biases.
constexpr double kParameters = 64 * 32 + 32 + 32 * 10 + 10;

class TrafficForecastTest : public test::WorkerRuns {
 protected:
  Recipe recipe_of(std::vector<std::string> overrides) const {
    overrides.emplace_back(test::kNetwork);
    overrides.emplace_back("train.epochs=1");
    return recipe("run", overrides);
  }

  static TrafficForecast forecast(const Recipe& recipe) {
    return forecast_traffic(recipe, *thread_ranks(kWorkers));
  }

  // What the first worker of a run sends and receives in a mean step of the
  // first ones.
  RankTraffic measured(const Recipe& recipe, std::int64_t steps) const {
    train(recipe, kWorkers);
    std::ifstream log(recipe.log.folder + "/traffic.jsonl");
    RankTraffic sum;
    for (std::int64_t i = 0; i < steps; ++i) {
      std::string line;
      EXPECT_TRUE(std::getline(log, line)) << i;
      const auto step = nlohmann::json::parse(line);
      sum.bytes_sent += step.at("bytes_sent").get<double>();
      sum.bytes_received += step.at("bytes_received").get<double>();
    }
    return {sum.bytes_sent / static_cast<double>(steps),
            sum.bytes_received / static_cast<double>(steps)};
  }

  void expect_as_measured(const std::vector<std::string>& overrides) {
    const Recipe recipe = recipe_of(overrides);
    const TrafficForecast told = forecast(recipe);
    EXPECT_FALSE(std::filesystem::exists(recipe.log.folder));
    const RankTraffic first = measured(recipe, told.steps);
    EXPECT_GT(told.ranks[0].bytes_sent, 0) << told.sync;
    EXPECT_EQ(told.ranks[0].bytes_sent, first.bytes_sent) << told.sync;
    EXPECT_EQ(told.ranks[0].bytes_received, first.bytes_received) << told.sync;
  }
};

// Each of P ranks of a ring sends 2 (P - 1) / P of the vector; beside it go the
// sums of what is measured, a few numbers.
TEST_F(TrafficForecastTest, OfARingIsWhatArithmeticSays) {
  const TrafficForecast told =
      forecast(recipe_of({"sync.collective=\"ring\""}));
  ASSERT_EQ(told.ranks.size(), kWorkers);
  const double ring = 2.0 * (kWorkers - 1) / kWorkers * 4 * kParameters;
  for (const RankTraffic& rank : told.ranks) {
    // Parts differ by one element where they are not equal, in each bucket.
    EXPECT_NEAR(rank.bytes_sent, ring, 300);
    EXPECT_NEAR(rank.bytes_received, ring, 300);
  }
  EXPECT_NE(told.sync.find("ring"), std::string::npos) << told.sync;
}

TEST_F(TrafficForecastTest, IsWhatARunSends) {
  expect_as_measured({"sync.collective=\"ring\""});
}

TEST_F(TrafficForecastTest, OfServersIsWhatARunSends) {
  expect_as_measured({"sync.policy=\"server\""});
}

TEST_F(TrafficForecastTest, OfCodecsDependsOnGradients) {
  expect_as_measured({"sync.sparsify=\"topk(0.05)\"",
                      "sync.codec=\"index:delta value:qsgd(7)\""});
}

// Between meetings nothing travels; the mean is over a whole period.
TEST_F(TrafficForecastTest, OfCopiesCoversAPeriod) {
  const TrafficForecast two =
      forecast(recipe_of({"sync.policy=\"local_sgd(period=2)\""}));
  const TrafficForecast four =
      forecast(recipe_of({"sync.policy=\"local_sgd(period=4)\""}));
  EXPECT_EQ(two.steps, 2);
  EXPECT_EQ(four.steps, 4);
  EXPECT_NEAR(two.ranks[0].bytes_sent / four.ranks[0].bytes_sent, 2, 0.01);
  expect_as_measured({"sync.policy=\"local_sgd(period=4)\""});
}

TEST_F(TrafficForecastTest, ARankThatOnlyServesIsTold) {
  const TrafficForecast told =
      forecast(recipe_of({"sync.policy=\"server\"", "sync.servers=1"}));
  // It hears both workers' gradients, and answers both.
  EXPECT_NEAR(told.ranks[2].bytes_received, 2 * 4 * kParameters, 1000);
  EXPECT_NEAR(told.ranks[0].bytes_sent, 4 * kParameters, 1000);
}

}  // namespace
}  // namespace weft::traffic_forecast_test
