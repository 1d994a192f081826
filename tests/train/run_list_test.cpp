#include "weft/train/run_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace weft::run_list_test {
namespace {

using ::testing::ElementsAre;

class RunListTest : public ::testing::Test {
 protected:
  // A run that is judged by `metric`, and has measured that and a loss.
  TrainedRun run(const std::string& name, const std::string& metric,
                 std::vector<double> values) const {
    RunRecord record = new_record();
    record.name = name;
    record.outcome.state = RunState::kDone;
    record.outcome.deciding = {.name = metric, .is_higher_better = true};
    std::string lines;
    for (std::size_t i = 0; i < values.size(); ++i) {
      EpochMetrics epoch;
      epoch.epoch = static_cast<std::int64_t>(i) + 1;
      epoch.step = 10 * epoch.epoch;
      epoch.seconds = 0.5 * static_cast<double>(epoch.epoch);
      for (Scores* part : {&epoch.train, &epoch.held_out}) {
        part->set("loss", 1 / (values[i] + 1));
        part->set(metric, values[i]);
      }
      epoch.is_best = i == 1;
      lines += to_json(epoch) + "\n";
    }
    folder_.write(name + "/metrics.jsonl", lines);
    write_record(folder_ / name, record);
    return read_run(folder_ / name);
  }

  test::TemporaryFolder folder_;
};

TEST_F(RunListTest, FindsRunsInFoldersOfFolders) {
  run("b", "accuracy", {0.5});
  run("a/deep", "accuracy", {0.5});
  folder_.write("c/other.txt", "");
  EXPECT_THAT(find_runs(folder_.path()),
              ElementsAre(folder_ / "a" / "deep", folder_ / "b"));
  EXPECT_THAT(find_runs(folder_ / "b"), ElementsAre(folder_ / "b"));
  EXPECT_TRUE(find_runs(folder_ / "c").empty());
  test::expect_error(ErrorCode::kUnavailable, {"none"},
                     [&] { find_runs(folder_ / "none"); });
  test::expect_error(ErrorCode::kInvalidArgument, {"no run", "deep"},
                     [&] { read_run(folder_ / "a"); });
  test::expect_error(ErrorCode::kInvalidArgument, {"no run"},
                     [&] { read_run(folder_ / "c"); });
  test::expect_error(ErrorCode::kInvalidArgument, {"no such folder"},
                     [&] { read_run(folder_ / "none"); });
  folder_.write("c/last.safetensors", "");
  test::expect_error(ErrorCode::kInvalidArgument, {"--resume"},
                     [&] { read_run(folder_ / "c"); });
}

TEST_F(RunListTest, NamesALineThatIsDamaged) {
  run("a", "accuracy", {0.5, 0.75});
  EXPECT_EQ(read_run(folder_ / "a").best()->epoch, 2);
  const std::string good = read_text(folder_ / "a" / "metrics.jsonl");
  for (const char* bad : {"{\"epoch\": 3", "[]", "{}", "\xff"}) {
    folder_.write("a/metrics.jsonl", good + bad + "\n");
    test::expect_error(ErrorCode::kDataLoss, {"metrics.jsonl:3"},
                       [&] { read_run(folder_ / "a"); });
  }
}

TEST_F(RunListTest, ComparesByWhatAllHave) {
  const std::vector runs{run("a", "accuracy", {0.5, 0.75, 0.625}),
                         run("b", "bleu", {0.5, 20})};
  test::expect_error(
      ErrorCode::kInvalidArgument,
      {"accuracy", "a: loss, accuracy", "b: loss, bleu", "--metric loss"},
      [&] { common_metric(runs, std::nullopt); });
  test::expect_error(ErrorCode::kInvalidArgument, {"bleu"},
                     [&] { common_metric(runs, "bleu"); });
  EXPECT_EQ(common_metric(runs, "loss").name, "loss");
  EXPECT_TRUE(
      common_metric(std::span(runs).first(1), std::nullopt).is_higher_better);
  const std::vector empty{run("c", "accuracy", {})};
  EXPECT_EQ(empty[0].best(), nullptr);
  test::expect_error(ErrorCode::kInvalidArgument, {"nothing was measured"},
                     [&] { common_metric(empty, std::nullopt); });
}

TEST_F(RunListTest, DrawsEachRunInAStrokeOfItsOwn) {
  std::vector<TrainedRun> runs(21, run("a", "accuracy", {0.5, 0.75}));
  const std::vector<std::string> labels(22, "a");
  const MetricDef accuracy = runs[0].record.outcome.deciding;
  const Chart chart = chart_of(runs, labels, accuracy, CurveAxis::kTime);
  ASSERT_EQ(chart.panels.size(), 2u);
  EXPECT_EQ(chart.panels[1].curves.size(), 21u);
  EXPECT_EQ(chart.panels[1].curves[3].points[1].x, 1.0);
  EXPECT_EQ(chart.panels[1].curves[3].points[1].y, 0.75);
  EXPECT_EQ(chart.legend.size(), 21u);
  for (std::size_t i = 1; i < 21; ++i) {
    EXPECT_TRUE(chart.legend[i].stroke.colour !=
                    chart.legend[0].stroke.colour ||
                chart.legend[i].stroke.dashes != chart.legend[0].stroke.dashes);
  }
  // A single run shows its training too.
  EXPECT_EQ(
      chart_of(std::span(runs).first(1), labels, accuracy, CurveAxis::kEpoch)
          .panels[0]
          .curves.size(),
      2u);
  runs.push_back(runs[0]);
  test::expect_error(ErrorCode::kInvalidArgument, {"22", "21"}, [&] {
    chart_of(runs, labels, accuracy, CurveAxis::kStep);
  });
}

}  // namespace
}  // namespace weft::run_list_test
