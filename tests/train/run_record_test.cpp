#include "weft/train/run_record.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace weft::run_record_test {
namespace {

RunRecord sample() {
  RunRecord record = new_record();
  record.name = "dig\"its";
  record.task = "classification";
  record.model = "mlp";
  record.data = "digits";
  record.epochs = 20;
  record.outcome = {.state = RunState::kDone,
                    .reason = "",
                    .deciding = {.name = "accuracy", .is_higher_better = true},
                    .test = {},
                    .epochs = 18,
                    .best_epoch = 17,
                    .seconds = 0.5};
  record.outcome.test.set("loss", 0.25);
  record.outcome.test.set("accuracy", kNotMeasured);
  return record;
}

TEST(RunRecord, IsReadAsItWasWritten) {
  const test::TemporaryFolder folder;
  const RunRecord record = sample();
  write_record(folder.path(), record);
  const RunRecord read = read_record(folder.path());
  EXPECT_EQ(to_json(read), to_json(record));
  EXPECT_EQ(read.outcome.test.get("loss"), 0.25);
  EXPECT_TRUE(std::isnan(read.outcome.test.get("accuracy")));
  EXPECT_EQ(read.process, getpid());
}

// What says that it runs, and whose process is gone, was killed.
TEST(RunRecord, AKilledRunDoesNotRun) {
  const test::TemporaryFolder folder;
  RunRecord record = sample();
  record.outcome.state = RunState::kRunning;
  write_record(folder.path(), record);
  EXPECT_EQ(read_record(folder.path()).outcome.state, RunState::kRunning);

  const pid_t child = fork();
  if (child == 0) _exit(0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  record.process = child;
  write_record(folder.path(), record);
  EXPECT_EQ(read_record(folder.path()).outcome.state, RunState::kInterrupted);
  // Nobody knows of another host's processes.
  record.host = "elsewhere";
  write_record(folder.path(), record);
  EXPECT_EQ(read_record(folder.path()).outcome.state, RunState::kRunning);
}

TEST(RunRecord, RefusesWhatIsNone) {
  const test::TemporaryFolder folder;
  test::expect_error(ErrorCode::kUnavailable, {"run.json"},
                     [&] { read_record(folder.path()); });
  const std::string good = to_json(sample());
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  for (const std::string& bad :
       {std::string(), std::string("[]"), good.substr(0, good.size() / 2),
        with("\"done\"", "\"dead\""), with("\"epochs\": 20", "\"epochs\": {}"),
        with("\"task\"", "\"tusk\""), with("0.25", "\"low\"")}) {
    folder.write("run.json", bad);
    test::expect_error(ErrorCode::kDataLoss, {"run.json", "damaged"},
                       [&] { read_record(folder.path()); });
  }
}

}  // namespace
}  // namespace weft::run_record_test
