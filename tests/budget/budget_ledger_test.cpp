#include "weft/budget/budget_ledger.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "tests/support/errors.h"
#include "tests/support/postgresql_server.h"
#include "tests/support/temporary_folder.h"

#include "weft/budget/budget_page.h"
#include "weft/budget/date_text.h"
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
  // A sum of n curves order / 2 is within 10 + ln(1e-7) / (order - 1) for n =
  // 2, at order 5 (5 of 5.97), and at no order for n = 3.
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
  // A pattern that has come to mean more is another claim.
  budgets.ask(claim("all", 0.1, {"*"}));
  budgets.add_block("tue", kPromise);
  expect_error(ErrorCode::kInvalidArgument, {"'all'", "block 'tue'"},
               [&] { budgets.ask(claim("all", 0.1, {"*"})); });
  for (const char* name : {"job \xff", "block \xff"}) {
    expect_error(ErrorCode::kInvalidArgument, {"no UTF-8"}, [&] {
      if (name[0] == 'j') budgets.ask(claim(name, 0.1));
      budgets.add_block(name, kPromise);
    });
  }
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
  EXPECT_EQ(budgets.ask(claim("large", 0.9)).standing, ClaimStanding::kWaiting);
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

// Blocks retire by date, by number and by hand: whoever waits is told, whoever
// was granted keeps it, and nothing that is left is given any more.
TEST(BudgetLedger, RetiresBlocks) {
  const TemporaryFolder folder;
  const std::string file = (folder / "books.db").string();
  Ledger ledger = Ledger::open(file, LedgerMode::kCreate);
  BudgetLedger budgets(ledger);
  budgets.set_rules({.scheduler = "fcfs",
                     .unlocking = "time(lifetime=1000000000)",
                     .period = 0});
  // It is years until all is unlocked, and a moment until it retires.
  const std::int64_t now =
      std::chrono::duration_cast<std::chrono::microseconds>(
          std::chrono::system_clock::now().time_since_epoch())
          .count();
  budgets.add_block("soon", kPromise, {.at = now + 400'000});
  budgets.add_block("hand", kPromise);
  EXPECT_EQ(budgets.ask(claim("a", 5, {"soon"})).standing,
            ClaimStanding::kWaiting);
  EXPECT_EQ(budgets.ask(claim("b", 5, {"hand"})).standing,
            ClaimStanding::kWaiting);
  const KeptClaim refused = budgets.wait("a", 60);
  EXPECT_EQ(refused.standing, ClaimStanding::kRefused);
  for (const char* part : {"'soon'", "any more", "retired on", "UTC"}) {
    EXPECT_NE(refused.because.find(part), std::string::npos) << refused.because;
  }
  budgets.retire("hand", "its people have left");
  const KeptClaim& told = budgets.books().claims().at("b");
  EXPECT_EQ(told.standing, ClaimStanding::kRefused);
  EXPECT_NE(told.because.find("its people have left"), std::string::npos);
  // Who comes later is told at once.
  EXPECT_EQ(budgets.ask(claim("c", 50)).standing, ClaimStanding::kRefused);
  expect_error(ErrorCode::kInvalidArgument, {"its people have left"},
               [&] { budgets.retire("hand", "again"); });
  expect_error(ErrorCode::kInvalidArgument, {"no block"},
               [&] { budgets.retire("nowhere", "why"); });
  expect_error(ErrorCode::kInvalidArgument, {"before it is there"},
               [&] { budgets.add_block("past", kPromise, {.at = now - 1}); });
}

// The number holds also among claims that are dealt with together, and over
// what is given back.
TEST(BudgetLedger, RetiresAfterSomeGrants) {
  const TemporaryFolder folder;
  const std::string file = (folder / "books.db").string();
  Ledger ledger = Ledger::open(file, LedgerMode::kCreate);
  BudgetLedger budgets(ledger);
  budgets.add_block("mon", kPromise, {.grants = 3});
  budgets.ask(claim("first", 20));
  budgets.ask(claim("back", 20));
  budgets.release("back");
  budgets.set_rules({.scheduler = "dpk", .unlocking = "all", .period = 1e-6});
  budgets.ask(claim("second", 20));
  budgets.set_rules({.scheduler = "dpk", .unlocking = "all", .period = 1e9});
  for (const char* name : {"x", "y", "z"}) {
    EXPECT_EQ(budgets.ask(claim(name, 20)).standing, ClaimStanding::kWaiting);
  }
  budgets.set_rules({.scheduler = "dpk", .unlocking = "all", .period = 0});
  budgets.ask(claim("late", 20));
  int granted = 0;
  for (const auto& [name, kept] : budgets.books().claims()) {
    granted += kept.standing == ClaimStanding::kGranted ? 1 : 0;
    if (kept.standing == ClaimStanding::kRefused) {
      EXPECT_NE(kept.because.find("after 3 grants"), std::string::npos)
          << kept.because;
    }
  }
  EXPECT_EQ(granted, 3);
  EXPECT_EQ(budgets.books().waiting().size(), 0u);
  // Who reads the records again finds the same.
  Ledger again = Ledger::open(file);
  const KeptBlock block = BudgetLedger(again).books().blocks().at("mon");
  EXPECT_EQ(block.grants, 3);
  EXPECT_EQ(block.retirement_text(0), "it retired after 3 grants");
}

// Books from before blocks retired, and records that grant what is gone.
TEST(BudgetBooks, HoldRecordsToRetirement) {
  const auto record = [](std::int64_t sequence, const std::string& kind,
                         const std::string& body, std::int64_t time) {
    LedgerRecord record;
    record.sequence = sequence;
    record.kind = kind;
    record.body = body;
    record.time = time;
    return record;
  };
  BudgetBooks books;
  books.apply(
      record(1, "block", R"({"block":"old","epsilon":10,"delta":1e-7})", 5));
  EXPECT_EQ(books.blocks().at("old").retirement, Retirement());
  books.apply(
      record(2, "block", body_of(BlockEntry{"new", kPromise, {.at = 100}}), 6));
  ClaimEntry wanted = claim("job", 20, {"new"});
  books.apply(record(3, "claim", body_of(wanted), 7));
  expect_error(ErrorCode::kDataLoss, {"'job' was granted", "retired"}, [&] {
    books.apply(record(4, "grant", body_of(VerdictEntry{"job", ""}), 100));
  });
  expect_error(ErrorCode::kDataLoss, {"not there"}, [&] {
    books.apply(record(4, "retire", body_of(RetireEntry{"x", "y"}), 8));
  });
}

TEST(DateText, IsReadAsItIsWritten) {
  for (const std::int64_t moment : {std::int64_t{0}, std::int64_t{951'782'399},
                                    std::int64_t{1'900'000'000}}) {
    EXPECT_EQ(parse_date(date_text(moment * 1'000'000)), moment * 1'000'000);
  }
  EXPECT_EQ(parse_date("1970-01-02"), 86'400'000'000);
  EXPECT_EQ(parse_date("2024-02-29 00:00:01"),
            parse_date("2024-02-29") + 1'000'000);
  for (const char* wrong :
       {"", "2027", "2027-02-30", "2027-13-01", "2027-01-01 25:00:00",
        "2027-01-01x", "tomorrow", "2027-01-01 10:00"}) {
    EXPECT_THROW(parse_date(wrong), Error) << wrong;
  }
}

TEST(BudgetPage, EscapesWhatPeopleCallThings) {
  const TemporaryFolder folder;
  Ledger ledger =
      Ledger::open((folder / "books.db").string(), LedgerMode::kCreate);
  BudgetLedger budgets(ledger);
  budgets.add_block("<script>", kPromise);
  budgets.ask(claim("\"><b>", 3, {"<script>"}));
  const std::string page = budget_page(budgets.books(), "a & b", 0);
  EXPECT_EQ(page.find("<script>"), std::string::npos);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_NE(page.find("a &amp; b"), std::string::npos);
  EXPECT_NE(page.find("granted"), std::string::npos);
}

}  // namespace
}  // namespace weft::budget_ledger_test
