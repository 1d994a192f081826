// Clocks that jump, and what a ledger of budgets makes of it: no block is
// overdrawn, nothing is spent twice, and what is over stays over.
#include <gtest/gtest.h>
#include <thread>

#include "tests/support/clock_jump.h"
#include "tests/support/temporary_folder.h"

#include "weft/budget/budget_ledger.h"
#include "weft/budget/budget_view.h"
#include "weft/ledger/verify.h"

namespace weft::clock_test {
namespace {

using std::chrono::hours;
using test::ClockJump;

constexpr privacy::Guarantee kPromise{.epsilon = 10, .delta = 1e-7};
constexpr hours kYear{24 * 365};
// Two claims of noise 1 fit into that, and no third one.
constexpr int kFit = 2;

class BudgetClock : public testing::Test {
 protected:
  BudgetClock()
      : file_((folder_ / "books.db").string()),
        ledger_(Ledger::open(file_, LedgerMode::kCreate)),
        budgets_(ledger_) {}

  ClaimStanding ask(const std::string& name, double noise = 1,
                    std::vector<std::string> blocks = {"*"}) {
    return budgets_
        .ask({.claim = name,
              .job = name,
              .mechanism = fmt::format("gaussian(noise={})", noise),
              .blocks = std::move(blocks)})
        .standing;
  }
  int granted() {
    int count = 0;
    for (const auto& [name, kept] : budgets_.books().claims()) {
      count += kept.standing == ClaimStanding::kGranted ? 1 : 0;
    }
    return count;
  }
  // The chain holds, who reads it anew finds the same, and no block has given
  // away more than it may.
  void expect_promises_are_kept() {
    Ledger again = Ledger::open(file_);
    EXPECT_TRUE(verify(again).holds());
    BudgetLedger other(again);
    EXPECT_EQ(budget_json(other.books(), 0), budget_json(budgets_.books(), 0));
    for (const auto& [name, block] : other.books().blocks()) {
      EXPECT_LE(BudgetBooks::consumed_epsilon(block), kPromise.epsilon) << name;
    }
  }

  test::TemporaryFolder folder_;
  std::string file_;
  Ledger ledger_;
  BudgetLedger budgets_;
};

TEST_F(BudgetClock, UnlocksEarlyAndNeverMoreThanThereIs) {
  budgets_.set_rules(
      {.scheduler = "fcfs", .unlocking = "time(lifetime=100000)", .period = 0});
  budgets_.add_block("mon", kPromise);
  for (const char* name : {"a", "b", "c", "d"}) {
    EXPECT_EQ(ask(name), ClaimStanding::kWaiting);
  }
  {
    const ClockJump ahead(kYear);
    EXPECT_EQ(ask("a"), ClaimStanding::kGranted);
  }
  EXPECT_EQ(granted(), kFit);
  // What was unlocked stays so, and is not unlocked a second time.
  EXPECT_EQ(ask("small", 20), ClaimStanding::kGranted);
  for (const char* name : {"e", "f"}) {
    const ClockJump further(2 * kYear);
    EXPECT_EQ(ask(name), ClaimStanding::kRefused);
  }
  EXPECT_EQ(granted(), kFit + 1);
  // A block that arrives now begins with nothing, as time stands still; and who
  // looks is told so.
  EXPECT_NE(standstill_text(ledger_.now()).find("until 20"), std::string::npos);
  budgets_.add_block("tue", kPromise);
  EXPECT_EQ(ask("new", 20, {"tue"}), ClaimStanding::kWaiting);
  expect_promises_are_kept();
}

TEST_F(BudgetClock, RevivesNoBlock) {
  EXPECT_EQ(standstill_text(ledger_.now()), "");
  budgets_.add_block("mon", kPromise, {.at = ledger_.now() + 3'600'000'000});
  {
    // Nothing is decided by who only looks.
    const ClockJump ahead(hours(2));
    EXPECT_TRUE(budgets_.books().blocks().at("mon").gone(ledger_.now()));
  }
  EXPECT_EQ(ask("a", 20), ClaimStanding::kGranted);
  {
    const ClockJump ahead(hours(2));
    EXPECT_EQ(ask("b", 20), ClaimStanding::kRefused);
  }
  for (const hours by : {hours(0), hours(-1), -kYear}) {
    const ClockJump back(by);
    EXPECT_EQ(ask("b", 20), ClaimStanding::kRefused);
    EXPECT_EQ(ask(fmt::format("late by {}", by.count()), 20),
              ClaimStanding::kRefused);
    // Who asks what is left is told the same.
    EXPECT_TRUE(budgets_.books().blocks().at("mon").gone(ledger_.now()));
  }
  // What was granted is the job's.
  budgets_.begin("a");
  expect_promises_are_kept();
}

TEST_F(BudgetClock, GoesOnWhereTimeStandsStill) {
  budgets_.set_rules({.scheduler = "dpk", .unlocking = "all", .period = 3600});
  budgets_.add_block("mon", kPromise);
  EXPECT_EQ(ask("a"), ClaimStanding::kGranted);
  EXPECT_EQ(ask("b"), ClaimStanding::kWaiting);
  {
    const ClockJump ahead(kYear);
    EXPECT_EQ(ask("b"), ClaimStanding::kGranted);
    EXPECT_EQ(ask("c", 20), ClaimStanding::kWaiting);
  }
  EXPECT_EQ(ask("c", 20), ClaimStanding::kGranted);
  {
    const ClockJump back(-kYear);
    EXPECT_EQ(ask("d", 20), ClaimStanding::kGranted);
    EXPECT_EQ(ask("e"), ClaimStanding::kRefused);
  }
  expect_promises_are_kept();
}

TEST_F(BudgetClock, EndsNobodysPatience) {
  budgets_.set_rules(
      {.scheduler = "fcfs", .unlocking = "time(lifetime=100000)", .period = 0});
  budgets_.add_block("mon", kPromise);
  EXPECT_EQ(ask("a"), ClaimStanding::kWaiting);
  std::thread waiting([&] {
    Ledger ledger = Ledger::open(file_);
    const KeptClaim kept = BudgetLedger(ledger).wait("a", 600);
    EXPECT_EQ(kept.standing, ClaimStanding::kGranted) << kept.because;
  });
  // It may look before or after.
  const ClockJump ahead(kYear);
  waiting.join();
  expect_promises_are_kept();
}

}  // namespace
}  // namespace weft::clock_test
