// weft-bench ledger --folder F: how many records a second a ledger takes,
// beside how often the disk itself can be waited for.
//
// weft-bench budget-kills --folder F --rounds N: processes that ask for budgets
// at once and are killed at any moment; nothing may be overdrawn, and nothing
// lost that one of them was told.
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fmt/core.h>
#include <random>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/worker/options.h"

#include "weft/base/stopwatch.h"
#include "weft/budget/budget_ledger.h"
#include "weft/ledger/verify.h"

namespace weft::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kSingles = 400;
constexpr int kGroups = 20;
constexpr int kInGroup = 5000;
constexpr int kProcesses = 16;

LedgerEntry entry(std::int64_t number) {
  return {"bench", "line",
          fmt::format(R"({{"amount":{},"from":"a","to":"b"}})", number),
          fmt::format("request-{}", number)};
}

double rate_of_singles(Ledger& ledger) {
  const Stopwatch watch;
  for (int i = 0; i < kSingles; ++i) {
    ledger.transact([&](LedgerWriter& writer) { writer.append(entry(i)); });
  }
  return kSingles / watch.seconds();
}

double rate_of_groups(Ledger& ledger) {
  const Stopwatch watch;
  for (int group = 0; group < kGroups; ++group) {
    ledger.transact([&](LedgerWriter& writer) {
      for (int i = 0; i < kInGroup; ++i) {
        writer.append(entry(1'000'000 + group * kInGroup + i));
      }
    });
  }
  return kGroups * kInGroup / watch.seconds();
}

double rate_of_replay(Ledger& ledger) {
  const Stopwatch watch;
  const LedgerCheck check = verify(ledger);
  if (!check.holds()) {
    throw Error(ErrorCode::kDataLoss, "ledger", "{}",
                check.broken.value_or(""));
  }
  return static_cast<double>(check.head.sequence) / watch.seconds();
}

// A page at the end of a file, and a wait for the disk: what a commit cannot do
// without.
double rate_of_waits(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const std::string page(4096, 'x');
  const Stopwatch watch;
  for (int i = 0; i < kSingles; ++i) {
    if (::write(file, page.data(), page.size()) < 0 || ::fdatasync(file) != 0) {
      throw Error(ErrorCode::kUnavailable, path.string(), "cannot be written");
    }
  }
  const double rate = kSingles / watch.seconds();
  ::close(file);
  return rate;
}

// Asks for one budget after another, and tells what it was granted, until it is
// killed.
[[noreturn]] void ask_forever(const std::string& location, int round,
                              int process, int answers) {
  Ledger ledger = Ledger::open(location);
  BudgetLedger budgets(ledger);
  for (int i = 0;; ++i) {
    const std::string name =
        fmt::format("{:04}.{:02}.{:04}", round, process, i);
    const KeptClaim kept =
        budgets.ask({.claim = name,
                     .job = "",
                     .mechanism = fmt::format("gaussian(noise={})", 8 + i % 7),
                     .blocks = {fmt::format("{}", i % 5)}});
    if (kept.standing != ClaimStanding::kGranted) continue;
    if (::write(answers, name.data(), name.size()) < 0) ::_exit(1);
  }
}

// One round: processes, a moment, and a kill. Returns what they were told.
std::vector<std::string> killed_round(const std::string& location, int round,
                                      int microseconds) {
  int ends[2];
  if (::pipe(ends) != 0) {
    throw Error(ErrorCode::kExhausted, "pipe", "cannot be made");
  }
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = ::fork();
    if (child == 0) ask_forever(location, round, process, ends[1]);
    children.push_back(child);
  }
  ::close(ends[1]);
  ::usleep(static_cast<useconds_t>(microseconds));
  for (const pid_t child : children) ::kill(child, SIGKILL);
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  std::vector<std::string> told;
  char name[12];
  while (::read(ends[0], name, sizeof name) == sizeof name) {
    told.emplace_back(name, sizeof name);
  }
  ::close(ends[0]);
  return told;
}

}  // namespace

void measure_ledger(const WorkerOptions& options) {
  const fs::path folder = options.text("folder");
  Ledger ledger =
      Ledger::open((folder / "books.db").string(), LedgerMode::kCreate);
  const double waits = rate_of_waits(folder / "page");
  const double singles = rate_of_singles(ledger);
  const double groups = rate_of_groups(ledger);
  fmt::print("{{\"waits\":{},\"singles\":{},\"groups\":{},\"replay\":{}}}\n",
             waits, singles, groups, rate_of_replay(ledger));
}

void measure_budget_kills(const WorkerOptions& options) {
  const fs::path folder = options.text("folder");
  const auto rounds = options.integer("rounds");
  std::mt19937 moment(1);
  std::int64_t told = 0;
  std::int64_t lost = 0;
  std::int64_t overdrawn = 0;
  // A ledger of its own for every so many rounds, so that budgets are there.
  constexpr int kRoundsOfALedger = 25;
  for (int round = 0; round < rounds; ++round) {
    const std::string location =
        (folder / fmt::format("{}.db", round / kRoundsOfALedger)).string();
    {
      Ledger ledger = Ledger::open(location, LedgerMode::kCreate);
      BudgetLedger budgets(ledger);
      if (budgets.books().blocks().empty()) {
        for (int block = 0; block < 5; ++block) {
          budgets.add_block(std::to_string(block),
                            {.epsilon = 10, .delta = 1e-7});
        }
      }
    }
    const auto names = killed_round(location, round,
                                    3000 + static_cast<int>(moment() % 20'000));
    Ledger ledger = Ledger::open(location);
    BudgetLedger budgets(ledger);
    // Books that overdraw are refused here, whatever wrote them.
    const BudgetBooks& books = budgets.books();
    for (const std::string& name : names) {
      const auto claim = books.claims().find(name);
      ++told;
      lost += claim == books.claims().end() ||
                      claim->second.standing != ClaimStanding::kGranted
                  ? 1
                  : 0;
    }
    for (const auto& [name, block] : books.blocks()) {
      overdrawn +=
          BudgetBooks::consumed_epsilon(block) > block.guarantee.epsilon ? 1
                                                                         : 0;
    }
    if (!verify(ledger).holds()) ++lost;
  }
  fmt::print("{{\"processes\":{},\"told\":{},\"lost\":{},\"overdrawn\":{}}}\n",
             rounds * kProcesses, told, lost, overdrawn);
}

}  // namespace weft::bench
