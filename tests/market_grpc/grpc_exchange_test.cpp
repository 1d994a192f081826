// Ranks that hear each other over gRPC, each with a server on a port of its
// own.
#include "weft/market/grpc/grpc_exchange.h"

#include <exchange.grpc.pb.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <thread>

#include "tests/market/replicas.h"
#include "tests/support/clock_jump.h"

namespace weft::test {
namespace {

using market::GrpcExchange;

std::string address_of(const GrpcExchange& exchange) {
  return fmt::format("127.0.0.1:{}", exchange.port());
}

// So many ranks that know each other.
std::vector<std::unique_ptr<GrpcExchange>> ranks_that_met(int size,
                                                          double timeout = 30) {
  std::vector<std::unique_ptr<GrpcExchange>> ranks;
  std::vector<std::string> addresses;
  for (int i = 0; i < size; ++i) {
    ranks.push_back(std::make_unique<GrpcExchange>(
        market::GrpcExchangeOptions{.timeout = timeout}, size));
    addresses.push_back(address_of(*ranks.back()));
  }
  for (int i = 0; i < size; ++i) {
    ranks[static_cast<std::size_t>(i)]->meet(i, addresses);
  }
  return ranks;
}

// Runs `body` for each rank at once, and throws what the first of them threw.
void run_each(std::vector<std::unique_ptr<GrpcExchange>>& ranks,
              const std::function<void(GrpcExchange&)>& body) {
  std::vector<std::exception_ptr> failures(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        body(*ranks[i]);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure != nullptr) std::rethrow_exception(failure);
  }
}

TEST(GrpcExchangeTest, GivesEachWhatAllSay) {
  auto ranks = ranks_that_met(4);
  run_each(ranks, [](GrpcExchange& mine) {
    for (int step = 0; step < 50; ++step) {
      const std::vector<std::string> said =
          mine.exchange("test", fmt::format("{} in {}", mine.rank(), step));
      ASSERT_EQ(said.size(), 4u);
      for (std::size_t rank = 0; rank < said.size(); ++rank) {
        EXPECT_EQ(said[rank], fmt::format("{} in {}", rank, step));
      }
    }
  });
}

// A message of gRPC has 4 MB by itself.
TEST(GrpcExchangeTest, CarriesWhatIsLargerThanAMessageByItself) {
  auto ranks = ranks_that_met(2);
  const std::string large(std::size_t{9} << 20, 'x');
  run_each(ranks, [&](GrpcExchange& mine) {
    const auto said = mine.exchange("test", mine.rank() == 0 ? large : "");
    EXPECT_EQ(said[0], large);
    EXPECT_EQ(said[1], "");
  });
}

TEST(GrpcExchangeTest, TellsWhoIsGone) {
  auto ranks = ranks_that_met(3, /*timeout=*/0.5);
  ranks.pop_back();
  expect_error(
      ErrorCode::kUnavailable,
      {"1 of 3 ranks are gone in step 1, the hello: 2 are here", "rank 2:"},
      [&] {
        run_each(ranks,
                 [](GrpcExchange& mine) { mine.exchange("hello", "here"); });
      });
}

TEST(GrpcExchangeTest, RefusesAPortThatIsTaken) {
  const GrpcExchange first({}, 2);
  expect_error(ErrorCode::kUnavailable, {"the port is taken"},
               [&] { GrpcExchange({.port = first.port()}, 2); });
}

// Says a text in a rank's place.
grpc::StatusCode say(const GrpcExchange& to, int rank, std::int64_t step,
                     const std::string& text) {
  const auto stub = market::Exchange::NewStub(
      grpc::CreateChannel(address_of(to), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  market::Said said;
  said.set_rank(rank);
  said.set_step(step);
  said.set_text(text);
  market::Heard heard;
  return stub->Say(&context, said, &heard).error_code();
}

TEST(GrpcExchangeTest, WaitsAsLongWhateverTheClockShows) {
  auto ranks = ranks_that_met(3);
  std::vector<std::string> heard;
  std::thread waiting([&] { heard = ranks[0]->exchange("hello", "here"); });
  // The first rank is woken by a message while another is still to come.
  const ClockJump ahead(std::chrono::hours(1));
  EXPECT_EQ(say(*ranks[0], 1, 1, "one"), grpc::StatusCode::OK);
  EXPECT_EQ(say(*ranks[0], 2, 1, "two"), grpc::StatusCode::OK);
  waiting.join();
  EXPECT_EQ(heard, (std::vector<std::string>{"here", "one", "two"}));
}

TEST(GrpcExchangeTest, TakesNoStepFromAfarAndNoSecondText) {
  auto ranks = ranks_that_met(2);
  const auto said = [&](int rank, std::int64_t step, const std::string& text) {
    return say(*ranks[0], rank, step, text);
  };
  EXPECT_EQ(said(1, 3, "x"), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(said(1, 0, "x"), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(said(2, 1, "x"), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(said(-1, 1, "x"), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(said(1, 1, "x"), grpc::StatusCode::OK);
  EXPECT_EQ(said(1, 1, "x"), grpc::StatusCode::OK);  // the answer was lost
  EXPECT_EQ(said(1, 1, "y"), grpc::StatusCode::ALREADY_EXISTS);
}

// Replicas whose messages gRPC carries.
class GrpcReplicaTest : public Replicas {
 protected:
  void run(const std::vector<int>& validators, int rounds,
           double timeout = 30) {
    auto ranks = ranks_that_met(static_cast<int>(validators.size()), timeout);
    run_each(ranks, [&](GrpcExchange& mine) {
      const int which = validators[static_cast<std::size_t>(mine.rank())];
      Ledger ledger = open(which);
      market::Market market(ledger);
      const market::SigningKey key = validator(which);
      market::Replica replica(market, key, mine, [](const std::string&) {});
      replica.keep(rounds, /*every=*/0);
    });
  }
};

TEST_F(GrpcReplicaTest, AgreeAndTeachWhoWasAway) {
  Ledger first = open(0);
  market::add_to_pool(first, deposit(0));
  run({0, 1, 2}, 4);
  EXPECT_EQ(root_at(2), root_at(0));
  EXPECT_NE(root_at(4), root_at(0));
  market::add_to_pool(first, deposit(1));
  run({4, 3, 0, 1, 2}, 6);
  for (int i = 1; i < 5; ++i) EXPECT_EQ(root_at(i), root_at(0));
  EXPECT_EQ(balance_at(4, "anna"), 20);
}

TEST_F(GrpcReplicaTest, StopWithoutAMajority) {
  expect_error(ErrorCode::kUnavailable,
               {"2 of 5 validators are here, and 3 are a majority"}, [&] {
                 run({0, 1}, 1);
               });
}

TEST_F(GrpcReplicaTest, RefuseStrangers) {
  expect_error(ErrorCode::kInvalidArgument, {"no validator of this market"},
               [&] {
                 run({0, 1, 2, kStranger}, 1);
               });
}

// Somebody else speaks in the place of a rank: what it says is not signed by
// the rank's key, and no block is made of it.
TEST_F(GrpcReplicaTest, BelieveNobodyWhoSpeaksInTheirPlace) {
  auto ranks = ranks_that_met(3);
  Ledger first = open(0);
  market::add_to_pool(first, deposit(0));
  for (const std::size_t to : {0, 2}) {
    // Behind the hello.
    ASSERT_EQ(say(*ranks[to], 1, 2, std::string(128, '0') + R"({"height":0})"),
              grpc::StatusCode::OK);
  }
  expect_error(ErrorCode::kDataLoss, {"its message is refused"}, [&] {
    run_each(ranks, [&](GrpcExchange& mine) {
      Ledger ledger = open(mine.rank());
      market::Market market(ledger);
      const market::SigningKey key = validator(mine.rank());
      market::Replica replica(market, key, mine, [](const std::string&) {});
      if (mine.rank() != 1) replica.step();
    });
  });
  EXPECT_EQ(balance_at(0, "anna"), 0);
}

}  // namespace
}  // namespace weft::test
