// The server without a transport: deadlines, and what happens while its one
// executor is busy, which it is for as long as a test likes, since outcomes are
// delivered there.
#include "weft/serve/server.h"

#include <fcntl.h>
#include <future>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

#include "tests/serve/models.h"
#include "tests/support/errors.h"

#include "weft/serve/log.h"

namespace weft::server_test {
namespace {

using namespace std::chrono_literals;
using serve::InferAnswer;
using serve::InferCall;
using serve::Server;
using serve::Status;
using test::TemporaryFolder;

InferCall call(float value, std::optional<serve::Duration> timeout = {}) {
  return {.model = "scale",
          .timeout = timeout,
          .inputs = {{"arg0", Tensor::of<float>({1, 2}, {value, 1})}}};
}

class ServerTest : public testing::Test {
 protected:
  ServerTest() {
    server_.repository().open({test::export_scale(folder_, "scale.weft")});
    // The executor delivers this outcome until it is let go.
    server_.infer(call(0), [this](const InferAnswer&) {
      is_busy_.set_value();
      let_go_.get_future().wait();
    });
    is_busy_.get_future().wait();
  }

  std::future<InferAnswer> ask(InferCall made,
                               Server::Ticket* ticket = nullptr) {
    const auto promise = std::make_shared<std::promise<InferAnswer>>();
    auto held = server_.infer(std::move(made), [promise](InferAnswer answer) {
      promise->set_value(std::move(answer));
    });
    if (ticket != nullptr) *ticket = std::move(held);
    return promise->get_future();
  }

  TemporaryFolder folder_;
  std::promise<void> is_busy_, let_go_;
  Server server_{
      {.executors = {.threads = 1, .executors = 1, .most_waiting = 3}}};
};

TEST_F(ServerTest, AnswersThatADeadlineHasPassed) {
  auto late = ask(call(1, 1us));
  const InferAnswer answer = late.get();
  EXPECT_EQ(answer.status, Status::kExpired);
  EXPECT_NE(answer.message.find("deadline"), std::string::npos);
  auto in_time = ask(call(2));
  let_go_.set_value();
  EXPECT_EQ(in_time.get().status, Status::kOk);
}

TEST_F(ServerTest, WhatWaitedSharesTheNextRun) {
  std::vector<std::future<InferAnswer>> answers;
  for (int i = 0; i < 3; ++i)
    answers.push_back(ask(call(static_cast<float>(i))));
  test::expect_error(ErrorCode::kExhausted, {"3 requests wait"},
                     [&] { ask(call(9)); });
  let_go_.set_value();
  for (int i = 0; i < 3; ++i) {
    const InferAnswer answer = answers[static_cast<std::size_t>(i)].get();
    EXPECT_TRUE(identical(
        answer.outputs[0].tensor,
        Tensor::of<float>({1, 2}, {10 * static_cast<float>(i), 100})));
  }
  EXPECT_EQ(server_.metrics().of("scale").batches, 2u);
  EXPECT_EQ(server_.metrics().of("scale").padding, 1u);
}

TEST_F(ServerTest, WhoGivesUpIsToldOnce) {
  Server::Ticket ticket;
  auto given_up = ask(call(1), &ticket);
  server_.cancel(ticket);
  EXPECT_EQ(given_up.get().status, Status::kCancelled);
  // It is over: nothing is left to be given up.
  server_.cancel(ticket);
  let_go_.set_value();
}

TEST_F(ServerTest, TheEndLeavesNobodyWaiting) {
  auto waiting = ask(call(1));
  EXPECT_FALSE(server_.drain(serve::Clock::now()));
  std::thread end([&] { server_.end(); });
  EXPECT_EQ(waiting.get().status, Status::kUnavailable);
  let_go_.set_value();
  end.join();
  test::expect_error(ErrorCode::kUnavailable, {"shutting down"},
                     [&] { ask(call(2)); });
}

TEST_F(ServerTest, OutputsComeAsTheyAreAskedFor) {
  InferCall made = call(1);
  made.outputs = {"result1"};
  test::expect_error(ErrorCode::kInvalidArgument,
                     {"outputs[0].name", "result1"},
                     [&] { ask(std::move(made)); });
  InferCall again = call(1);
  again.outputs = {"result0", "result0"};
  test::expect_error(ErrorCode::kInvalidArgument,
                     {"outputs[1].name", "'result0' is named twice"},
                     [&] { ask(std::move(again)); });
  InferCall twice = call(1);
  twice.inputs.push_back(twice.inputs[0]);
  test::expect_error(ErrorCode::kInvalidArgument, {"given twice"},
                     [&] { ask(std::move(twice)); });
  InferCall none = call(1);
  none.inputs.clear();
  test::expect_error(ErrorCode::kInvalidArgument, {"'arg0' is missing"},
                     [&] { ask(std::move(none)); });
  let_go_.set_value();
}

TEST(ServerLog, ALineThatCannotBeWrittenIsLost) {
  const int terminal = ::dup(STDERR_FILENO);
  const int full = ::open("/dev/full", O_WRONLY);
  ASSERT_EQ(::dup2(full, STDERR_FILENO), STDERR_FILENO);
  EXPECT_NO_THROW(serve::log("{}", "nobody reads this"));
  ::dup2(terminal, STDERR_FILENO);
  ::close(terminal);
  ::close(full);
}

}  // namespace
}  // namespace weft::server_test
