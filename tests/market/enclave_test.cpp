// Jobs in enclaves: what they read, count and make.
#include "tests/market/enclaves.h"

#include "weft/files/safetensors.h"

namespace weft::test {
namespace {

TEST_F(EnclaveTest, TrainsCountsAndIsPaid) {
  const std::int64_t number = submit("training", 2);
  const market::EnclaveResult first = run(number);
  EXPECT_EQ(first.failure, "");
  EXPECT_EQ(first.report.reads, (std::vector<std::int64_t>{120, 80}));
  // Whoever runs it again makes the same model.
  const market::EnclaveResult again = run(number, "elsewhere");
  EXPECT_EQ(market::to_hex(first.report.outputs),
            market::to_hex(again.report.outputs));
  report(first);
  EXPECT_EQ(job(number).state, market::JobState::kPaid);
  EXPECT_FALSE(std::filesystem::exists(order(number).scratch));
}

TEST_F(EnclaveTest, RunsAsManyEpochsAsItsGasPays) {
  // An epoch is 100 reads, each of which costs 1 for the data.
  const std::int64_t number = submit("training", 5, kEnclaveRecipe, 250);
  const market::EnclaveResult result = run(number);
  EXPECT_EQ(result.report.status, market::JobStatus::kPartial);
  EXPECT_EQ(result.report.reads, (std::vector<std::int64_t>{120, 80}));
  report(result);
  EXPECT_EQ(job(number).outcome, "partial_success");
  EXPECT_EQ(job(number).state, market::JobState::kPaid);
}

TEST_F(EnclaveTest, TellsOnlyTheMetricOfATry) {
  const std::int64_t number = submit("tryrun", 2);
  const market::EnclaveResult result = run(number);
  EXPECT_TRUE(result.outputs.starts_with("{\"accuracy\":")) << result.outputs;
  EXPECT_LT(result.outputs.size(), 50u);
  report(result);
  EXPECT_EQ(job(number).state, market::JobState::kPaid);
}

TEST_F(EnclaveTest, ValuesShards) {
  const std::int64_t number = submit("valuation", 1, "");
  const market::EnclaveResult result = run(number);
  ASSERT_EQ(result.report.values.size(), 2u) << result.failure;
  EXPECT_GT(result.report.values[0], result.report.values[1]);
  report(result);
  EXPECT_EQ(job(number).state, market::JobState::kPaid);
}

TEST_F(EnclaveTest, PredictsWithTheModelOfAnotherJob) {
  const std::int64_t training = submit("training", 2);
  const market::EnclaveResult trained = run(training);
  report(trained);
  const market::Digest model = trained.report.outputs;
  std::ofstream(market::stored(store(), model), std::ios::binary)
      << trained.outputs;
  const std::int64_t number =
      submit("inference", 1, kEnclaveRecipe, 50'000, model);
  const market::EnclaveResult result = run(number);
  ASSERT_EQ(result.failure, "");
  EXPECT_EQ(result.report.reads, (std::vector<std::int64_t>{60, 40}));
  const auto path = folder_.path() / "predictions";
  std::ofstream(path, std::ios::binary) << result.outputs;
  const SafetensorsFile predictions(path);
  ASSERT_EQ(predictions.entries().size(), 1u);
  EXPECT_EQ(predictions.entries()[0].type.shape, Shape({100, 10}));
  report(result);
  EXPECT_EQ(job(number).state, market::JobState::kPaid);
}

TEST_F(EnclaveTest, DoesNotPredictWithAModelThatWasSwapped) {
  const market::Digest model = MarketScene::digest("the model");
  std::ofstream(market::stored(store(), model)) << "another model";
  const std::int64_t number =
      submit("inference", 1, kEnclaveRecipe, 50'000, model);
  const market::EnclaveResult result = run(number);
  EXPECT_EQ(result.report.status, market::JobStatus::kError);
  EXPECT_NE(result.failure.find("is not the model that the job names"),
            std::string::npos);
}

TEST_F(EnclaveTest, ReportsRecipesThatCannotBeMetered) {
  std::string recipe = kEnclaveRecipe;
  recipe += "patience = 3\n";
  const std::int64_t number = submit("training", 2, recipe);
  const market::EnclaveResult result = run(number);
  EXPECT_EQ(result.report.status, market::JobStatus::kError);
  EXPECT_NE(result.failure.find("patience"), std::string::npos);
  report(result);
  EXPECT_EQ(job(number).state, market::JobState::kFailed);
  EXPECT_EQ(market_->current().balance_of(MarketScene::account("buyer")),
            100'000);
}

TEST_F(EnclaveTest, DoesNotRunWhatItWasNotMeasuredFor) {
  const std::int64_t number = submit("training", 2);
  market::EnclaveOrder changed = order(number);
  changed.recipe += "# one more line\n";
  const auto platform = market::software_platform(
      setting().machine, changed.recipe, changed.job.task);
  expect_error(ErrorCode::kInvalidArgument, {"another program or recipe"},
               [&] { market::run_order(changed, *platform, services()); });
}

}  // namespace
}  // namespace weft::test
