#include "weft/ledger/ledger.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>

#include "tests/support/errors.h"
#include "tests/support/ledger_entries.h"
#include "tests/support/postgresql_server.h"
#include "tests/support/temporary_folder.h"

#include "weft/ledger/verify.h"

namespace weft::ledger_test {
namespace {

using test::append_one;
using test::expect_error;
using test::records_of;
using test::take_one;
using test::TemporaryFolder;
using test::Till;

// What every kind of ledger promises, of an empty place.
void expect_promises(const std::string& location) {
  expect_error(ErrorCode::kUnavailable, {"there is no ledger"},
               [&] { Ledger::open(location); });
  Ledger ledger = Ledger::open(location, LedgerMode::kCreate);
  EXPECT_EQ(ledger.head(), ledger.beginning());

  // Nothing of a transaction that fails is there, and its error is passed on.
  EXPECT_THROW(ledger.transact([&](LedgerWriter& writer) {
    writer.append({"test", "line", "lost"});
    throw std::runtime_error("changed its mind");
  }),
               std::runtime_error);
  EXPECT_EQ(ledger.head().sequence, 0);

  // Texts come back as they were, whatever they hold.
  const std::string name = "'; DROP TABLE record; -- \"\\\n\t𝄞";
  ledger.transact([&](LedgerWriter& writer) {
    writer.append({name, name, name, name});
    writer.append({"test", "line", "", ""});
    EXPECT_EQ(writer.find(name, name)->sequence, 1);
    EXPECT_FALSE(writer.find("test", ""));
  });
  Ledger other = Ledger::open(location);
  const auto records = records_of(other);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].book, name);
  EXPECT_EQ(records[0].kind, name);
  EXPECT_EQ(records[0].key, name);
  EXPECT_EQ(records[0].body, name);
  EXPECT_EQ(records[1].time, records[0].time);
  EXPECT_EQ(other.head(), ledger.head());

  // A key is in a book once, whoever writes it, and in every book.
  expect_error(ErrorCode::kInvalidArgument, {}, [&] {
    other.transact([&](LedgerWriter& writer) {
      writer.append({name, "again", "", name});
    });
  });
  expect_error(ErrorCode::kInvalidArgument, {"already"}, [&] {
    other.transact([&](LedgerWriter& writer) {
      writer.append({"test", "line", "", "key"});
      writer.append({"test", "line", "", "key"});
    });
  });
  other.transact([&](LedgerWriter& writer) {
    writer.append({"another", "line", "", name});
  });
  EXPECT_EQ(ledger.head().sequence, 3);
  EXPECT_TRUE(verify(ledger).holds());

  // A clock that is set back makes time stand still: here another's was ahead.
  LedgerRecord ahead{{"test", "line", "", ""}};
  ahead.sequence = 4;
  ahead.time = ledger.head().time + 3'600'000'000;
  ahead.digest = digest_of(ahead, ledger.head().digest);
  ledger.store().begin();
  ledger.store().append(std::span(&ahead, 1));
  ledger.store().commit();
  append_one(other, "later");
  EXPECT_EQ(other.head().time, ahead.time);

  // Thousands at once, of which some are long.
  ledger.transact([&](LedgerWriter& writer) {
    for (int i = 0; i < 5000; ++i) {
      writer.append({"test", "line", std::string(i % 50 == 0 ? 40'000 : 5, 'x'),
                     std::to_string(i)});
    }
  });
  const LedgerCheck check = verify(other);
  EXPECT_TRUE(check.holds());
  EXPECT_EQ(check.head.sequence, 5005);
  EXPECT_EQ(check.books.at("test"), 5003);
}

// Writers of many threads never take more than there is, and lose nothing.
void expect_order(const std::string& location) {
  constexpr int kWriters = 6;
  constexpr std::int64_t kThere = 100;
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  for (int writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&, writer] {
      Ledger ledger = Ledger::open(location, LedgerMode::kCreate);
      Book<Till> book(ledger, "till", {.left = kThere});
      for (int i = 0; i < 30; ++i) {
        const std::string request = fmt::format("{}.{}", writer, i);
        const bool first = take_one(book, request);
        if (first) ++taken;
        EXPECT_EQ(take_one(book, request), first);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Ledger ledger = Ledger::open(location);
  Book<Till> book(ledger, "till", {.left = kThere});
  EXPECT_EQ(book.current().left, 0);
  EXPECT_EQ(book.current().records, kThere);
  EXPECT_EQ(taken, kThere);
  EXPECT_TRUE(verify(ledger).holds());
}

TEST(Ledger, KeepsItsPromisesInAFile) {
  const TemporaryFolder folder;
  expect_promises((folder / "deep/below/books.db").string());
  expect_order((folder / "order.db").string());
  EXPECT_EQ(folder.names().size(), 2u) << "something else was left";
}

TEST(Ledger, KeepsItsPromisesOnAServer) {
  test::PostgresqlServer server;
  expect_promises(server.make_database("promises"));
  expect_order(server.make_database("many"));
}

// Wherever a URL has its password, nobody is shown it.
TEST(Ledger, ShowsNoPassword) {
  test::PostgresqlServer server;
  const std::string location = server.make_database("shown");
  const std::string mark = location.find('?') == location.npos ? "?" : "&";
  for (const std::string& more :
       {mark + "password=secret", mark + "password=secret&connect_timeout=9",
        mark + "connect_timeout=9&%70assword=secret"}) {
    const Ledger ledger = Ledger::open(location + more, LedgerMode::kCreate);
    EXPECT_EQ(ledger.location().find("secret"), std::string::npos)
        << ledger.location();
    EXPECT_EQ(ledger.location().find("connect_timeout") == std::string::npos,
              more.find("connect_timeout") == std::string::npos);
    EXPECT_EQ(
        test::message_of([&] { Ledger::make(location + more); }).find("secret"),
        std::string::npos);
  }
}

// A server that is started again in the middle of transactions: each is done
// once, whether or not its answer came.
TEST(Ledger, OutlivesARestartOfItsServer) {
  test::PostgresqlServer server;
  const std::string location = server.make_database("restarts");
  Ledger ledger = Ledger::open(location, LedgerMode::kCreate);
  Book<Till> book(ledger, "till", {.left = 100});
  int runs = 0;
  book.transact([&](BookWriter<Till>& writer) {
    writer.append("take", "1", "first");
    // What was decided is gone with the connection, and decided again.
    if (++runs == 1) server.restart();
  });
  EXPECT_EQ(runs, 2);
  server.restart();
  EXPECT_EQ(book.current().left, 99);  // also by reading
  std::atomic<bool> done{false};
  Ledger mine = Ledger::open(location);
  std::thread writing([&] {
    Book<Till> till(mine, "till", {.left = 100});
    for (int i = 0; i < 99; ++i) {
      EXPECT_TRUE(take_one(till, std::to_string(i)));
    }
    done = true;
  });
  for (int i = 0; i < 2 && !done; ++i) server.restart();
  writing.join();
  EXPECT_EQ(book.current().left, 0);
  EXPECT_EQ(book.current().records, 100);
  EXPECT_TRUE(verify(ledger).holds());
}

TEST(Ledger, RefusesRecordsFromOutside) {
  const TemporaryFolder folder;
  const std::string file = (folder / "books.db").string();
  Ledger ledger = Ledger::open(file, LedgerMode::kCreate);
  for (const LedgerEntry& entry :
       {LedgerEntry{"", "kind", ""}, LedgerEntry{"book", "", ""},
        LedgerEntry{"book", "kind", "\xff"},
        LedgerEntry{"book", "kind", std::string("a\0b", 3)},
        LedgerEntry{"book", "kind", "", std::string(300, 'k')},
        LedgerEntry{"book", "kind", std::string(kMostBodyBytes + 1, 'b')}}) {
    expect_error(ErrorCode::kInvalidArgument, {"ledger"}, [&] {
      ledger.transact([&](LedgerWriter& writer) { writer.append(entry); });
    });
  }
  EXPECT_EQ(ledger.head().sequence, 0);
  // A file that is something else, or nothing.
  folder.write("else.db", "SQLite format 3");
  folder.write("empty.db", "");
  for (const char* name : {"else.db", "empty.db"}) {
    EXPECT_THROW(Ledger::open((folder / name).string()), Error);
    EXPECT_THROW(Ledger::open((folder / name).string(), LedgerMode::kCreate),
                 Error);
  }
  expect_error(ErrorCode::kInvalidArgument, {"is no place"},
               [] { Ledger::open("mysql://host/books"); });
  expect_error(ErrorCode::kUnavailable, {"ledger"}, [] {
    Ledger::open("postgresql://weft:secret@127.0.0.1:1/books");
  });
  EXPECT_EQ(test::message_of([] {
              Ledger::open("postgresql://weft:secret@127.0.0.1:1/books");
            }).find("secret"),
            std::string::npos);
}

// A disk that is full: the transaction fails as a whole, and with room again
// all goes on.
TEST(Ledger, SaysThatTheDiskIsFull) {
  const TemporaryFolder folder;
  const std::string file = (folder / "books.db").string();
  Ledger::open(file, LedgerMode::kCreate);
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{2'000'000, 2'000'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    Ledger ledger = Ledger::open(file);
    append_one(ledger, "before");
    int code = 1;
    try {
      ledger.transact([&](LedgerWriter& writer) {
        for (int i = 0; i < 40; ++i) {
          writer.append({"test", "line", std::string(100'000, 'x')});
        }
      });
    } catch (const Error& error) {
      code = error.code() == ErrorCode::kExhausted ? 0 : 2;
    }
    append_one(ledger, "after");
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  Ledger ledger = Ledger::open(file);
  const auto records = records_of(ledger);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1].body, "after");
  EXPECT_TRUE(verify(ledger).holds());
}

TEST(Ledger, LeavesNothingOfOneThatCannotBeMade) {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    int code = 1;
    try {
      Ledger::open((folder / "books.db").string(), LedgerMode::kCreate);
    } catch (const Error&) {
      code = 0;
    }
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(std::filesystem::is_empty(folder / "."));
}

// Processes are killed at any moment. What one of them has been told is written
// is there, once, and all of them together never take more than there is.
TEST(Ledger, LosesNothingWhenWritersAreKilled) {
  const TemporaryFolder folder;
  const std::string file = (folder / "books.db").string();
  Ledger::open(file, LedgerMode::kCreate);
  constexpr std::int64_t kThere = 1000;
  std::vector<std::string> told;
  for (int round = 0; round < 25; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    std::vector<pid_t> children;
    for (int writer = 0; writer < 2; ++writer) {
      const pid_t child = ::fork();
      if (child == 0) {
        Ledger ledger = Ledger::open(file);
        Book<Till> book(ledger, "till", {.left = kThere});
        for (int i = 0;; ++i) {
          const std::string request =
              fmt::format("{:04}.{:04}.{:06}\n", round, writer, i);
          if (!take_one(book, request)) ::_exit(0);
          if (::write(ends[1], request.data(), request.size()) < 0) ::_exit(1);
        }
      }
      children.push_back(child);
    }
    ::close(ends[1]);
    // They are killed while they write the next: after so many answers.
    char line[17];
    for (int answers = 0; answers < (round * 7) % 23; ++answers) {
      if (::read(ends[0], line, sizeof line) != sizeof line) break;
      told.emplace_back(line, sizeof line);
    }
    for (const pid_t child : children) ::kill(child, SIGKILL);
    for (const pid_t child : children) ::waitpid(child, nullptr, 0);
    while (::read(ends[0], line, sizeof line) == sizeof line) {
      told.emplace_back(line, sizeof line);
    }
    ::close(ends[0]);
  }
  Ledger ledger = Ledger::open(file);
  std::map<std::string, int> written;
  for (const LedgerRecord& record : records_of(ledger)) ++written[record.key];
  for (const std::string& request : told) EXPECT_EQ(written[request], 1);
  EXPECT_LE(std::ssize(written), kThere);
  EXPECT_TRUE(verify(ledger).holds());
}

}  // namespace
}  // namespace weft::ledger_test
