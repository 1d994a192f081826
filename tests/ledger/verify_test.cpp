#include "weft/ledger/verify.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "tests/support/errors.h"
#include "tests/support/ledger_entries.h"
#include "tests/support/temporary_folder.h"

#include "weft/ledger/export.h"

namespace weft::verify_test {
namespace {

using test::append_one;
using test::expect_error;
using test::records_of;
using test::TemporaryFolder;

// Past the triggers, as somebody would who wants to change history.
void execute(const std::string& file, const std::string& statement) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
  char* message = nullptr;
  EXPECT_EQ(
      sqlite3_exec(database, statement.c_str(), nullptr, nullptr, &message),
      SQLITE_OK)
      << message;
  sqlite3_free(message);
  sqlite3_close(database);
}

std::string made(const TemporaryFolder& folder, int records) {
  const std::string file = (folder / "books.db").string();
  Ledger ledger = Ledger::open(file, LedgerMode::kCreate);
  ledger.transact([&](LedgerWriter& writer) {
    for (int i = 0; i < records; ++i) {
      writer.append({"test", "line", fmt::format("{:0100}", i)});
    }
  });
  return file;
}

void write_export(const std::string& file, const std::filesystem::path& to) {
  Ledger ledger = Ledger::open(file);
  std::string text = export_heading(ledger.name()) + "\n";
  for (const LedgerRecord& record : records_of(ledger)) {
    text += export_line(record) + "\n";
  }
  write_file(to, text);
}

// A record that is changed, taken out, put in or moved is found, and named.
TEST(Verify, FindsWhatWasChanged) {
  const std::pair<const char*, const char*> cases[] = {
      {"UPDATE record SET body = 'other' WHERE sequence = 7",
       "record 7 is not"},
      {"UPDATE record SET time = time + 1 WHERE sequence = 7",
       "record 7 is not"},
      {"UPDATE record SET kind = 'lin' , key = 'e' WHERE sequence = 7",
       "record 7 is not"},
      {"UPDATE record SET time = 1 WHERE sequence = 7", "written before"},
      {"DELETE FROM record WHERE sequence = 7", "record 7 is missing"},
      {"UPDATE record SET digest = x'00' WHERE sequence = 7",
       "record 7 is not"},
      {"UPDATE record SET sequence = 0 WHERE sequence = 7",
       "record 7 is missing"},
      {"INSERT INTO record VALUES (11, 9e15, 'a', 'b', '', '', zeroblob(32))",
       "record 11 is not"},
  };
  for (const auto& [statement, says] : cases) {
    const TemporaryFolder folder;
    const std::string file = made(folder, 10);
    execute(file, std::string("DROP TRIGGER record_change; DROP TRIGGER "
                              "record_removal;") +
                      statement);
    Ledger ledger = Ledger::open(file);
    const LedgerCheck check = verify(ledger);
    EXPECT_FALSE(check.holds());
    ASSERT_TRUE(check.broken) << statement;
    EXPECT_NE(check.broken->find(says), std::string::npos) << *check.broken;
    // Nobody decides anything on it.
    Book<test::Till> book(ledger, "test");
    EXPECT_THROW(book.current(), Error);
  }
}

TEST(Verify, RefusesChangesByItself) {
  const TemporaryFolder folder;
  const std::string file = made(folder, 3);
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
  for (const char* statement :
       {"UPDATE record SET body = ''", "DELETE FROM record",
        "INSERT OR REPLACE INTO record SELECT * FROM record"}) {
    const int result =
        sqlite3_exec(database, statement, nullptr, nullptr, nullptr);
    Ledger ledger = Ledger::open(file);
    EXPECT_TRUE(verify(ledger).holds()) << statement << " gave " << result;
  }
  sqlite3_close(database);
}

// The newest records can only be missed by whoever noted an end.
TEST(Verify, HoldsALedgerToANotedEnd) {
  const TemporaryFolder folder;
  const std::string file = made(folder, 10);
  LedgerHead noted = Ledger::open(file).head();
  EXPECT_EQ(head_from_text(to_text(noted)).digest, noted.digest);
  execute(file,
          "DROP TRIGGER record_removal; DELETE FROM record WHERE sequence > 8");
  Ledger ledger = Ledger::open(file);
  EXPECT_TRUE(verify(ledger).holds());
  EXPECT_NE(verify(ledger, {noted}).broken->find("is missing"),
            std::string::npos);
  noted.sequence = 8;
  EXPECT_NE(verify(ledger, {noted}).broken->find("is another"),
            std::string::npos);
  for (const char* text : {"", "8", ":", "8:77", "x:00", "-1:00"}) {
    expect_error(ErrorCode::kInvalidArgument, {"no end of a chain"},
                 [&] { head_from_text(text); });
  }
}

// A page of the file is overwritten: it is named, what lies before it is said
// to hold, and a copy gives the rest back, bit for bit.
TEST(Restore, PutsTogetherWhatIsLeftAndACopy) {
  const TemporaryFolder folder;
  const std::string file = made(folder, 2000);
  const std::filesystem::path copy = folder / "copy.jsonl";
  write_export(file, copy);
  const LedgerHead head = Ledger::open(file).head();
  {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(20 * 4096);
    bytes << std::string(4096, '\x5a');
  }
  {
    Ledger ledger = Ledger::open(file);
    const LedgerCheck check = verify(ledger);
    EXPECT_FALSE(check.holds());
    EXPECT_GT(check.head.sequence, 0);
    ASSERT_FALSE(check.damage.empty());
    EXPECT_NE(check.damage[0].find("Page 21"), std::string::npos)
        << check.damage[0];
  }
  const std::string alone = (folder / "alone.db").string();
  EXPECT_LT(restore(file, {}, alone).sequence, 2000);
  const std::string whole = (folder / "whole.db").string();
  EXPECT_EQ(restore(file, {copy.string()}, whole), head);
  Ledger ledger = Ledger::open(whole);
  EXPECT_TRUE(verify(ledger, {head}).holds());
  expect_error(ErrorCode::kInvalidArgument, {"there is something already"},
               [&] { restore(file, {copy.string()}, whole); });
  // A copy of another ledger has nothing to give.
  const TemporaryFolder elsewhere;
  expect_error(ErrorCode::kInvalidArgument, {"another ledger"}, [&] {
    restore(file, {made(elsewhere, 3)}, (folder / "mixed.db").string());
  });
}

// Where neither has all, each gives what the other lacks.
TEST(Restore, TakesFromWhicheverHasTheNext) {
  const TemporaryFolder folder;
  const std::string file = made(folder, 100);
  const LedgerHead head = Ledger::open(file).head();
  Ledger ledger = Ledger::open(file);
  std::string text = export_heading(ledger.name()) + "\n";
  for (const LedgerRecord& record : records_of(ledger)) {
    if (record.sequence % 10 < 5) text += export_line(record) + "\n";
  }
  const auto copy = folder.write("some.jsonl", text);
  execute(file,
          "DROP TRIGGER record_removal; "
          "DELETE FROM record WHERE sequence % 10 < 3");
  EXPECT_EQ(restore(file, {copy.string()}, (folder / "new.db").string()), head);
}

// A damaged line costs its own record alone, which another copy has.
TEST(Restore, TakesWhatFollowsADamagedLine) {
  const TemporaryFolder folder;
  const std::string file = made(folder, 9);
  const LedgerHead head = Ledger::open(file).head();
  Ledger ledger = Ledger::open(file);
  const auto copy_without = [&](const char* name, std::int64_t damaged) {
    std::string text = export_heading(ledger.name()) + "\n";
    for (const LedgerRecord& record : records_of(ledger)) {
      text += record.sequence == damaged ? "{\"seq" : export_line(record);
      text += '\n';
    }
    return folder.write(name, text).string();
  };
  const std::string one = copy_without("one.jsonl", 3);
  const std::string two = copy_without("two.jsonl", 6);
  execute(file, "DROP TRIGGER record_removal; DELETE FROM record");
  EXPECT_EQ(restore(file, {one, two}, (folder / "new.db").string()), head);
}

TEST(LedgerExport, RefusesDamagedLines) {
  const TemporaryFolder folder;
  const std::string file = made(folder, 2);
  Ledger ledger = Ledger::open(file);
  const LedgerRecord record = records_of(ledger)[0];
  EXPECT_EQ(record_from_line(export_line(record), "here"), record);
  const std::string good = export_line(record);
  for (const std::string& line :
       {std::string(), std::string("{"), std::string("[]"),
        good.substr(0, good.size() - 10), std::string("{\"sequence\":1.5}"),
        std::string("{\"sequence\":\"1\"}")}) {
    expect_error(ErrorCode::kDataLoss, {"here"},
                 [&] { record_from_line(line, "here"); });
  }
  const auto other =
      folder.write("other.jsonl", "{\"ledger\":\"a\",\"format\":2}");
  expect_error(ErrorCode::kDataLoss, {"other.jsonl:1", "another format"},
               [&] { LedgerExport{other}; });
}

// A record of one ledger, or in another place, does not fit.
TEST(LedgerChain, BelongsToOneLedger) {
  LedgerRecord record{{"book", "kind", "body"}};
  record.sequence = 1;
  record.time = 5;
  record.digest = digest_of(record, ledger_beginning("one").digest);
  LedgerChain("here", ledger_beginning("one")).follow(record);
  expect_error(ErrorCode::kDataLoss, {"here", "record 1 is not"}, [&] {
    LedgerChain("here", ledger_beginning("two")).follow(record);
  });
  // Where one text ends and the next begins is digested, too.
  LedgerRecord moved = record;
  moved.book = "boo";
  moved.kind = "kkind";
  EXPECT_NE(digest_of(moved, ledger_beginning("one").digest), record.digest);
}

}  // namespace
}  // namespace weft::verify_test
