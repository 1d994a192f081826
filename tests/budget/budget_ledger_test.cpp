#include "weft/budget/budget_ledger.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "tests/support/errors.h"
#include "tests/support/postgresql_server.h"
#include "tests/support/temporary_folder.h"

#include "weft/budget/budget_page.h"
#include "weft/ledger/verify.h"
#include "weft/privacy/mechanism.h"

namespace weft::budget_ledger_test {
namespace {

using test::expect_error;
using test::TemporaryFolder;

constexpr privacy::Guarantee kPromise{.epsilon = 10, .delta = 1e-7};

ClaimEntry claim(const std::string& name, double noise,
                 std::vector<std::string> blocks = {"*"}) {
  return {.claim = name,
          .job = name,
          .mechanism = fmt::format("gaussian(noise={})", noise),
          .blocks = std::move(blocks)};
}

// At one order at least, no block has given away more than it may.
void expect_promises_are_kept(const BudgetBooks& books) {
  for (const auto& [name, block] : books.blocks()) {
    const std::vector<double> nothing(block.capacity.size(), 0);
    EXPECT_TRUE(privacy::fits(nothing, block.consumed.values(),
                              block.capacity.values()))
        << name;
    EXPECT_LE(BudgetBooks::consumed_epsilon(block), block.guarantee.epsilon);
  }
}

TEST(BudgetLedger, GrantsUntilABlockIsSpent) {
  const TemporaryFolder folder;
  Ledger ledger =
      Ledger::open((folder / "books.db").string(), LedgerMode::kCreate);
  BudgetLedger budgets(ledger);
  budgets.add_block("mon", kPromise);
  budgets.add_block("tue", kPromise);
  int granted = 0;
  KeptClaim last = budgets.ask(claim("0", 1, {"mon"}));
  for (int i = 1; last.standing == ClaimStanding::kGranted; ++i) {
    ++granted;
    last = budgets.ask(claim(std::to_string(i), 1, {"mon"}));
  }
  // A sum of n curves order / 2 is within 10 + ln(1e-7) / (order - 1) for n = 2,
  // at order 5 (5 of 5.97), and at no order for n = 3.
  EXPECT_EQ(granted, 2);
  EXPECT_EQ(last.standing, ClaimStanding::kRefused);
  for (const char* part : {"'mon'", "epsilon", "where 10 is promised"}) {
    EXPECT_NE(last.because.find(part), std::string::npos) << last.because;
  }
  // What asks of both gets nothing of either; who asks of the other does.
  EXPECT_EQ(budgets.ask(claim("both", 1)).standing, ClaimStanding::kRefused);
  EXPECT_EQ(budgets.ask(claim("tue", 1, {"tu*"})).standing,
            ClaimStanding::kGranted);
  // One that wants little is still granted, at an order that has some left.
  EXPECT_EQ(budgets.ask(claim("little", 20, {"mon"})).standing,
            ClaimStanding::kGranted);
  expect_promises_are_kept(budgets.books());
}

TEST(BudgetLedger, AsksOnceHoweverOften) {
  const TemporaryFolder folder;
  const std::string file = (folder / "books.db").string();
  Ledger ledger = Ledger::open(file, LedgerMode::kCreate);
  BudgetLedger budgets(ledger);
  budgets.add_block("mon", kPromise);
  for (int i = 0; i < 5; ++i) {
    Ledger own = Ledger::open(file);
    EXPECT_EQ(BudgetLedger(own).ask(claim("job", 1)).standing,
              ClaimStanding::kGranted);
  }
  EXPECT_NEAR(budgets.books().blocks().at("mon").consumed[2], 1.0, 1e-9);
  expect_error(ErrorCode::kInvalidArgument, {"cannot become"},
               [&] { budgets.ask(claim("job", 0.5)); });
  expect_error(ErrorCode::kInvalidArgument, {"no block is called 'wed'"},
               [&] { budgets.ask(claim("wed", 1, {"wed"})); });
  expect_error(ErrorCode::kInvalidArgument, {}, [&] {
    budgets.ask(
        {.claim = "x", .job = "", .mechanism = "gauss", .blocks = {"*"}});
  });
  expect_error(ErrorCode::kInvalidArgument, {"is there"},
               [&] { budgets.add_block("mon", kPromise); });
  expect_error(ErrorCode::kInvalidArgument, {"no name"},
               [&] { budgets.add_block("m*", kPromise); });
  // Nothing could ever be granted within such a promise.
  EXPECT_THROW(budgets.add_block("small", {.epsilon = 0.01, .delta = 1e-9}),
               Error);
}

TEST(BudgetLedger, GivesBackOnlyWhatHasNotBegun) {
  const TemporaryFolder folder;
  Ledger ledger =
      Ledger::open((folder / "books.db").string(), LedgerMode::kCreate);
  BudgetLedger budgets(ledger);
  budgets.add_block("mon", kPromise);
  budgets.ask(claim("a", 1.3));
  budgets.ask(claim("b", 1.7));
  const auto consumed = budgets.books().blocks().at("mon").consumed;
  budgets.ask(claim("c", 3));
  budgets.release("c");
  // To the last bit: what others hold is added up again.
  EXPECT_EQ(budgets.books().blocks().at("mon").consumed, consumed);
  budgets.begin("a");
  budgets.begin("a");
  expect_error(ErrorCode::kInvalidArgument, {"stays spent"},
               [&] { budgets.release("a"); });
  expect_error(ErrorCode::kInvalidArgument, {"released"},
               [&] { budgets.begin("c"); });
  expect_error(ErrorCode::kInvalidArgument, {"is not there"},
               [&] { budgets.release("d"); });
}

// Claims that come within a period are dealt with together, and so the
// scheduler chooses: three small ones in the place of the large one that came
// first.
TEST(BudgetLedger, LetsASchedulerChoose) {
  const TemporaryFolder folder;
  Ledger ledger =
      Ledger::open((folder / "books.db").string(), LedgerMode::kCreate);
  BudgetLedger budgets(ledger);
  for (const char* block : {"1", "2", "3"}) budgets.add_block(block, kPromise);
  budgets.set_rules({.scheduler = "dpk", .unlocking = "all", .period = 1e-6});
  budgets.ask(claim("first", 20, {"1"}));
  budgets.set_rules({.scheduler = "dpk", .unlocking = "all", .period = 1e9});
  EXPECT_EQ(budgets.ask(claim("large", 0.9)).standing,
            ClaimStanding::kWaiting);
  for (const char* block : {"1", "2", "3"}) {
    EXPECT_EQ(budgets.ask(claim(block, 0.88, {block})).standing,
              ClaimStanding::kWaiting);
  }
  budgets.set_rules({.scheduler = "dpk", .unlocking = "all", .period = 0});
  EXPECT_EQ(budgets.wait("1", 1000).standing, ClaimStanding::kGranted);
  EXPECT_EQ(budgets.wait("2", 1000).standing, ClaimStanding::kGranted);
  EXPECT_EQ(budgets.wait("3", 1000).standing, ClaimStanding::kGranted);
  EXPECT_EQ(budgets.wait("large", 1000).standing, ClaimStanding::kRefused);
  expect_promises_are_kept(budgets.books());
}

// What is not unlocked yet is waited for, and no longer than was asked.
TEST(BudgetLedger, WaitsForWhatIsUnlocked) {
  const TemporaryFolder folder;
  Ledger ledger =
      Ledger::open((folder / "books.db").string(), LedgerMode::kCreate);
  BudgetLedger budgets(ledger);
  budgets.set_rules(
      {.scheduler = "fcfs", .unlocking = "time(lifetime=1e9)", .period = 0});
  budgets.add_block("mon", kPromise);
  EXPECT_EQ(budgets.ask(claim("early", 1)).standing, ClaimStanding::kWaiting);
  const KeptClaim given_up = budgets.wait("early", 0);
  EXPECT_EQ(given_up.standing, ClaimStanding::kRefused);
  EXPECT_NE(given_up.because.find("not unlocked yet"), std::string::npos);
  EXPECT_EQ(budgets.ask(claim("late", 1)).standing, ClaimStanding::kWaiting);
  budgets.set_rules({.scheduler = "fcfs", .unlocking = "all", .period = 0});
  EXPECT_EQ(budgets.wait("late", 1000).standing, ClaimStanding::kGranted);
}

// Books that somebody wrote by hand, with more than there is, are used by
// nobody.
TEST(BudgetLedger, RefusesBooksThatOverdraw) {
  const TemporaryFolder folder;
  Ledger ledger =
      Ledger::open((folder / "books.db").string(), LedgerMode::kCreate);
  BudgetLedger(ledger).add_block("mon", kPromise);
  ledger.transact([&](LedgerWriter& writer) {
    writer.append({kBudgetBook, "claim", body_of(claim("big", 0.1, {"mon"}))});
    writer.append({kBudgetBook, "grant", body_of(VerdictEntry{"big", ""})});
  });
  expect_error(ErrorCode::kDataLoss, {"overdrawn"},
               [&] { BudgetLedger(ledger).books(); });
  for (const LedgerEntry& entry :
       {LedgerEntry{kBudgetBook, "claim", "{}"},
        LedgerEntry{kBudgetBook, "claim", "["},
        LedgerEntry{kBudgetBook, "spell", "{}"},
        LedgerEntry{kBudgetBook, "grant", "{\"claim\":\"x\",\"because\":\"\"}"},
        LedgerEntry{kBudgetBook, "block", "{\"block\":1}"},
        LedgerEntry{kBudgetBook, "block",
                    R"({"block":"b","epsilon":-1,"delta":2})"}}) {
    const TemporaryFolder other;
    Ledger damaged =
        Ledger::open((other / "books.db").string(), LedgerMode::kCreate);
    damaged.transact([&](LedgerWriter& writer) { writer.append(entry); });
    expect_error(ErrorCode::kDataLoss, {"budget"},
                 [&] { BudgetLedger(damaged).books(); });
  }
}

// Processes ask at once, and are killed; whatever is left holds the promise,
// and what a process was told it has is there.
void expect_no_overdraft(const std::string& location, int rounds) {
  {
    Ledger ledger = Ledger::open(location, LedgerMode::kCreate);
    BudgetLedger budgets(ledger);
    for (const char* block : {"1", "2", "3"}) {
      budgets.add_block(block, kPromise);
    }
  }
  std::vector<std::string> told;
  for (int round = 0; round < rounds; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    std::vector<pid_t> children;
    for (int process = 0; process < 4; ++process) {
      const pid_t child = ::fork();
      if (child == 0) {
        Ledger ledger = Ledger::open(location);
        BudgetLedger budgets(ledger);
        for (int i = 0; i < 1000; ++i) {
          const std::string name =
              fmt::format("{:02}.{:02}.{:04}", round, process, i);
          const auto kept =
              budgets.ask(claim(name, 4 + i % 5, {std::to_string(1 + i % 3)}));
          if (kept.standing != ClaimStanding::kGranted) continue;
          if (::write(ends[1], name.data(), name.size()) < 0) ::_exit(1);
        }
        ::_exit(0);
      }
      children.push_back(child);
    }
    ::close(ends[1]);
    char name[10];
    for (int answers = 0; answers < 3 + round; ++answers) {
      if (::read(ends[0], name, sizeof name) != sizeof name) break;
      told.emplace_back(name, sizeof name);
    }
    for (const pid_t child : children) ::kill(child, SIGKILL);
    for (const pid_t child : children) ::waitpid(child, nullptr, 0);
    while (::read(ends[0], name, sizeof name) == sizeof name) {
      told.emplace_back(name, sizeof name);
    }
    ::close(ends[0]);
  }
  Ledger ledger = Ledger::open(location);
  BudgetLedger budgets(ledger);
  const BudgetBooks& books = budgets.books();
  expect_promises_are_kept(books);
  for (const std::string& each : told) {
    ASSERT_TRUE(books.claims().contains(each));
    EXPECT_EQ(books.claims().at(each).standing, ClaimStanding::kGranted);
  }
  EXPECT_TRUE(verify(ledger).holds());
}

TEST(BudgetLedger, IsNeverOverdrawnByProcessesThatAreKilled) {
  const TemporaryFolder folder;
  expect_no_overdraft((folder / "books.db").string(), 12);
}

TEST(BudgetLedger, IsNeverOverdrawnOnAServer) {
  test::PostgresqlServer server;
  expect_no_overdraft(server.make_database("budgets"), 4);
}

TEST(BudgetPage, EscapesWhatPeopleCallThings) {
  const TemporaryFolder folder;
  Ledger ledger =
      Ledger::open((folder / "books.db").string(), LedgerMode::kCreate);
  BudgetLedger budgets(ledger);
  budgets.add_block("<script>", kPromise);
  budgets.ask(claim("\"><b>", 3, {"<script>"}));
  const std::string page = budget_page(budgets.books(), "a & b");
  EXPECT_EQ(page.find("<script>"), std::string::npos);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_NE(page.find("a &amp; b"), std::string::npos);
  EXPECT_NE(page.find("granted"), std::string::npos);
}

}  // namespace
}  // namespace weft::budget_ledger_test
