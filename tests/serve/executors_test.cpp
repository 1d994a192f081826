// Runs on the thread that hands requests in, and those that are left to
// executors. How long a run may take is the tests' to say: all are short, or
// none.
#include <future>
#include <gtest/gtest.h>
#include <thread>

#include "tests/serve/models.h"

#include "weft/serve/run_times.h"
#include "weft/serve/server.h"

namespace weft::executors_test {
namespace {

using namespace std::chrono_literals;
using serve::InferAnswer;
using serve::RunTimes;
using serve::Server;
using serve::Status;

Tensor rows_of_two(Dim rows) { return Tensor::zeros({DType::kF32, {rows, 2}}); }

TEST(RunTimes, AreMeansOfLateRunsOfLikeSizes) {
  RunTimes times;
  EXPECT_EQ(times.expected(5), std::numeric_limits<double>::infinity());
  times.add(5, 8);
  EXPECT_EQ(times.expected(7), 8);
  times.add(4, 16);
  EXPECT_EQ(times.expected(5), 9);
  EXPECT_EQ(times.expected(8), std::numeric_limits<double>::infinity());
  for (int i = 0; i < 100; ++i) times.add(6, 2);
  EXPECT_NEAR(times.expected(5), 2, 1e-4);
}

TEST(RunTimes, RowsWaitWhereTheirPaddingCostsMoreThanTheyDo) {
  RunTimes times;
  for (const std::int64_t rows : {1, 2, 4}) {
    times.add(10 * rows, static_cast<double>(rows));
  }
  EXPECT_EQ(times.rows_that_pay(3, 10), 2);
  // How long eight rows take is not known.
  EXPECT_EQ(times.rows_that_pay(5, 10), 5);
  // One that takes little more than four is for all.
  times.add(80, 4.5);
  EXPECT_EQ(times.rows_that_pay(5, 10), 5);
  EXPECT_EQ(times.rows_that_pay(4, 10), 4);
}

class VolunteerTest : public testing::Test {
 protected:
  VolunteerTest() {
    server_.repository().open({test::export_scale(folder_, "scale.weft")});
    // How long its runs take is known from here on.
    EXPECT_NE(ask().get(), std::this_thread::get_id());
  }

  // The thread that will tell the answer.
  std::future<std::thread::id> ask(Dim rows = 1) {
    const auto teller = std::make_shared<std::promise<std::thread::id>>();
    server_.infer({.model = "scale", .inputs = {{"arg0", rows_of_two(rows)}}},
                  [teller](const InferAnswer& answer) {
                    EXPECT_EQ(answer.status, Status::kOk);
                    teller->set_value(std::this_thread::get_id());
                  });
    return teller->get_future();
  }

  // Whether an executor counts a run as over that it has told of.
  bool is_idle() { return server_.metrics().of("scale").running == 0; }

  test::TemporaryFolder folder_;
  Server server_{
      {.executors = {.threads = 1, .executors = 1, .short_run = 24h}}};
};

TEST_F(VolunteerTest, RunsWhatItsThreadHasHandedIn) {
  auto volunteer = server_.volunteer();
  while (!is_idle()) std::this_thread::yield();
  auto told = ask();
  EXPECT_TRUE(volunteer.run());
  EXPECT_EQ(told.get(), std::this_thread::get_id());
  EXPECT_FALSE(volunteer.run());
}

TEST_F(VolunteerTest, WhatWaitsRunsTogether) {
  for (const Dim rows : {2, 4}) ask(rows).get();
  while (!is_idle()) std::this_thread::yield();
  auto volunteer = server_.volunteer();
  const std::uint64_t batches = server_.metrics().of("scale").batches;
  std::vector<std::future<std::thread::id>> told;
  for (int i = 0; i < 4; ++i) told.push_back(ask());
  EXPECT_TRUE(volunteer.run());
  for (auto& each : told) EXPECT_EQ(each.get(), std::this_thread::get_id());
  EXPECT_EQ(server_.metrics().of("scale").batches - batches, 1u);
}

TEST_F(VolunteerTest, SizesThatNeverRanAreTheExecutors) {
  while (!is_idle()) std::this_thread::yield();
  auto volunteer = server_.volunteer();
  auto told = ask(64);
  EXPECT_FALSE(volunteer.run());
  EXPECT_NE(told.get(), std::this_thread::get_id());
}

TEST_F(VolunteerTest, WhatOthersHandInIsTheExecutors) {
  auto volunteer = server_.volunteer();
  std::thread other(
      [&] { EXPECT_NE(ask().get(), std::this_thread::get_id()); });
  other.join();
}

TEST_F(VolunteerTest, NeverComputesBesideABusyExecutor) {
  std::promise<void> is_busy, let_go;
  std::thread other([&] {
    server_.infer({.model = "scale", .inputs = {{"arg0", rows_of_two(1)}}},
                  [&](const InferAnswer&) {
                    is_busy.set_value();
                    let_go.get_future().wait();
                  });
  });
  is_busy.get_future().wait();
  other.join();
  auto volunteer = server_.volunteer();
  auto told = ask();
  EXPECT_FALSE(volunteer.run());
  let_go.set_value();
  EXPECT_NE(told.get(), std::this_thread::get_id());
}

TEST_F(VolunteerTest, LeavesToExecutorsWhatItHasNotRun) {
  std::future<std::thread::id> told;
  {
    auto volunteer = server_.volunteer();
    told = ask();
  }
  EXPECT_NE(told.get(), std::this_thread::get_id());
}

TEST(Volunteer, LeavesLongRunsToExecutors) {
  test::TemporaryFolder folder;
  Server server({.executors = {.short_run = 0s}});
  server.repository().open({test::export_scale(folder, "scale.weft")});
  auto volunteer = server.volunteer();
  for (int turn = 0; turn < 3; ++turn) {
    std::promise<std::thread::id> teller;
    server.infer({.model = "scale", .inputs = {{"arg0", rows_of_two(1)}}},
                 [&](const InferAnswer&) {
                   teller.set_value(std::this_thread::get_id());
                 });
    EXPECT_FALSE(volunteer.run());
    EXPECT_NE(teller.get_future().get(), std::this_thread::get_id());
  }
}

}  // namespace
}  // namespace weft::executors_test
