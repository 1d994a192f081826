// A ledger in a file, by SQLite: for the processes of one machine.
//
// Its log stands beside the file (write-ahead logging), so that readers do not
// wait for the writer; each commit waits for the disk (synchronous = FULL).
// Triggers refuse whoever would change a record from outside.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sqlite3.h>
#include <unistd.h>

#include "weft/ledger/store.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr int kMostWaitMilliseconds = 60'000;

// It says of a file that it is a ledger, in this form: "weft" and a number.
constexpr int kApplication = 0x77656674;
constexpr int kFormat = 1;

constexpr const char* kTables = R"(
CREATE TABLE ledger (name TEXT NOT NULL) STRICT;
CREATE TABLE record (
  sequence INTEGER PRIMARY KEY,
  time INTEGER NOT NULL,
  book TEXT NOT NULL,
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  body TEXT NOT NULL,
  digest BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX record_key ON record (book, key) WHERE key <> '';
CREATE TRIGGER record_change BEFORE UPDATE ON record
  BEGIN SELECT RAISE(ABORT, 'records of a ledger are not changed'); END;
CREATE TRIGGER record_removal BEFORE DELETE ON record
  BEGIN SELECT RAISE(ABORT, 'records of a ledger are not removed'); END;
)";

constexpr const char* kColumns =
    "SELECT sequence, time, book, kind, key, body, digest FROM record ";

ErrorCode code_of(int result, int reason) {
  switch (result & 0xff) {
    case SQLITE_FULL:
      return ErrorCode::kExhausted;
    case SQLITE_IOERR:
      return reason == ENOSPC || reason == EDQUOT || reason == EFBIG
                 ? ErrorCode::kExhausted
                 : ErrorCode::kUnavailable;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorCode::kDataLoss;
    case SQLITE_CONSTRAINT:
      return ErrorCode::kInvalidArgument;
    default:
      return ErrorCode::kUnavailable;
  }
}

// A connection, and what goes wrong on it.
class Connection {
 public:
  Connection(const std::string& path, int flags) : path_(path) {
    const int result =
        sqlite3_open_v2(path.c_str(), &database_,
                        flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                        /*zVfs=*/nullptr);
    if (result != SQLITE_OK) {
      const Error error = failure(result);
      sqlite3_close(database_);
      throw error;
    }
    sqlite3_busy_timeout(database_, kMostWaitMilliseconds);
    sqlite3_db_config(database_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { sqlite3_close(database_); }

  sqlite3* get() const { return database_; }
  const std::string& path() const { return path_; }

  void execute(const char* statements) {
    check(sqlite3_exec(database_, statements, nullptr, nullptr, nullptr));
  }
  void check(int result) const {
    if (result != SQLITE_OK && result != SQLITE_DONE && result != SQLITE_ROW) {
      throw failure(result);
    }
  }

 private:
  Error failure(int result) const {
    const int reason = database_ ? sqlite3_system_errno(database_) : 0;
    Error error(code_of(result, reason), path_, "{}",
                database_ ? sqlite3_errmsg(database_) : sqlite3_errstr(result));
    if ((result & 0xff) == SQLITE_BUSY) {
      return error.hint("another process writes to it, and does not end");
    }
    if (error.code() == ErrorCode::kDataLoss) {
      return error.hint("weft ledger verify says what is left of it");
    }
    if (reason != 0) error.detail(std::strerror(reason));
    return error;
  }

  std::string path_;
  sqlite3* database_ = nullptr;
};

// One statement, and its use: reset when a use ends.
class Statement {
 public:
  Statement(Connection& connection, const std::string& text)
      : connection_(connection) {
    connection_.check(sqlite3_prepare_v3(
        connection_.get(), text.c_str(), static_cast<int>(text.size()),
        SQLITE_PREPARE_PERSISTENT, &statement_, /*pzTail=*/nullptr));
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  // The values outlive the use.
  void bind(int at, std::int64_t value) {
    connection_.check(sqlite3_bind_int64(statement_, at, value));
  }
  void bind(int at, const std::string& text) {
    connection_.check(sqlite3_bind_text64(
        statement_, at, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8));
  }
  void bind(int at, const LedgerDigest& digest) {
    connection_.check(sqlite3_bind_blob(statement_, at, digest.data(),
                                        static_cast<int>(digest.size()),
                                        SQLITE_STATIC));
  }
  // Whether there is a row.
  bool step() {
    const int result = sqlite3_step(statement_);
    connection_.check(result);
    return result == SQLITE_ROW;
  }
  void reset() noexcept { sqlite3_reset(statement_); }

  std::int64_t number(int column) const {
    return sqlite3_column_int64(statement_, column);
  }
  std::string text(int column) const {
    const unsigned char* bytes = sqlite3_column_text(statement_, column);
    const int count = sqlite3_column_bytes(statement_, column);
    return {reinterpret_cast<const char*>(bytes),
            static_cast<std::size_t>(count)};
  }
  LedgerRecord record() const {
    LedgerRecord record{
        {.book = text(2), .kind = text(3), .body = text(5), .key = text(4)}};
    record.sequence = number(0);
    record.time = number(1);
    // One of another length is damage, which the chain then finds.
    const void* digest = sqlite3_column_blob(statement_, 6);
    if (sqlite3_column_bytes(statement_, 6) ==
        static_cast<int>(record.digest.size())) {
      std::memcpy(record.digest.data(), digest, record.digest.size());
    }
    return record;
  }

 private:
  Connection& connection_;
  sqlite3_stmt* statement_ = nullptr;
};

class ResetAtEnd {
 public:
  explicit ResetAtEnd(Statement& statement) : statement_(statement) {}
  ResetAtEnd(const ResetAtEnd&) = delete;
  ResetAtEnd& operator=(const ResetAtEnd&) = delete;
  ~ResetAtEnd() { statement_.reset(); }

 private:
  Statement& statement_;
};

std::int64_t number_from(Connection& connection, const char* query) {
  Statement statement(connection, query);
  return statement.step() ? statement.number(0) : 0;
}

// Throws for a file that is no ledger.
std::string name_in(Connection& connection) {
  if (number_from(connection, "PRAGMA application_id") != kApplication) {
    throw Error(ErrorCode::kInvalidArgument, connection.path(), "is no ledger");
  }
  const std::int64_t format = number_from(connection, "PRAGMA user_version");
  if (format != kFormat) {
    throw Error(ErrorCode::kUnsupported, connection.path(),
                "is a ledger of format {}; this version reads {}", format,
                kFormat);
  }
  Statement statement(connection, "SELECT name FROM ledger");
  return statement.step() ? statement.text(0) : std::string();
}

class SqliteLedger : public LedgerStore {
 public:
  explicit SqliteLedger(const std::string& path)
      : connection_(path, SQLITE_OPEN_READWRITE), name_(name_in(connection_)) {
    connection_.execute("PRAGMA synchronous = FULL");
  }

  const std::string& name() const override { return name_; }

  void begin() override { connection_.execute("BEGIN IMMEDIATE"); }
  void append(std::span<const LedgerRecord> records) override {
    for (const LedgerRecord& record : records) {
      const ResetAtEnd reset(insert_);
      insert_.bind(1, record.sequence);
      insert_.bind(2, record.time);
      insert_.bind(3, record.book);
      insert_.bind(4, record.kind);
      insert_.bind(5, record.key);
      insert_.bind(6, record.body);
      insert_.bind(7, record.digest);
      insert_.step();
    }
  }
  void commit() override { connection_.execute("COMMIT"); }
  void rollback() noexcept override {
    // An error may have ended the transaction already.
    if (sqlite3_get_autocommit(connection_.get()) == 0) {
      sqlite3_exec(connection_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
    }
  }

  std::optional<LedgerRecord> last() override { return only(last_); }
  std::optional<LedgerRecord> find(const std::string& book,
                                   const std::string& key) override {
    find_.bind(1, book);
    find_.bind(2, key);
    return only(find_);
  }
  void read(std::int64_t after,
            const std::function<void(LedgerRecord&&)>& visit) override {
    // It is a statement of its own, as `visit` may read as well.
    Statement statement(
        connection_,
        std::string(kColumns) + "WHERE sequence > ? ORDER BY sequence");
    statement.bind(1, after);
    while (statement.step()) visit(statement.record());
  }

  std::vector<std::string> damage() override {
    std::vector<std::string> lines;
    try {
      Statement statement(connection_, "PRAGMA integrity_check(20)");
      while (statement.step()) {
        // A row is one line or several, below a heading of stars.
        const std::string row = statement.text(0);
        for (std::size_t at = 0; at < row.size();) {
          const std::size_t end = std::min(row.find('\n', at), row.size());
          std::string line = row.substr(at, end - at);
          if (line != "ok" && !line.starts_with("***")) {
            lines.push_back(std::move(line));
          }
          at = end + 1;
        }
      }
    } catch (const Error& error) {
      lines.push_back(error.message());
    }
    return lines;
  }

  // A file goes nowhere.
  void reconnect() override {}

 private:
  static std::optional<LedgerRecord> only(Statement& statement) {
    const ResetAtEnd reset(statement);
    return statement.step() ? std::optional(statement.record()) : std::nullopt;
  }

  Connection connection_;
  std::string name_;
  Statement insert_{connection_, "INSERT INTO record VALUES (?,?,?,?,?,?,?)"};
  Statement last_{connection_,
                  std::string(kColumns) + "ORDER BY sequence DESC LIMIT 1"};
  Statement find_{connection_, std::string(kColumns) +
                                   "WHERE book = ? AND key = ? AND key <> ''"};
};

// Everything is in place before the file has its name, so that whoever finds it
// finds a ledger; of two that make one, the first wins.
void make_sqlite(const std::string& location, const std::string& name) {
  const fs::path path = location;
  if (path.has_parent_path()) fs::create_directories(path.parent_path());
  const std::string temporary = fmt::format("{}.new-{}", location, name);
  // Nothing of it stays, as where the disk is full.
  struct RemoveAtEnd {
    const std::string& file;
    ~RemoveAtEnd() {
      std::error_code ignored;
      for (const char* part : {"", "-wal", "-shm"}) {
        fs::remove(file + part, ignored);
      }
    }
  } const remove{temporary};
  {
    Connection connection(temporary,
                          SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    connection.execute("PRAGMA journal_mode = WAL");
    connection.execute(kTables);
    connection.execute(fmt::format("PRAGMA application_id = {}; "
                                   "PRAGMA user_version = {}",
                                   kApplication, kFormat)
                           .c_str());
    Statement insert(connection, "INSERT INTO ledger VALUES (?)");
    insert.bind(1, name);
    insert.step();
  }
  const int linked = ::link(temporary.c_str(), location.c_str());
  const int reason = errno;
  if (linked != 0 && reason != EEXIST) {
    throw Error(ErrorCode::kUnavailable, location, "cannot be made: {}",
                std::strerror(reason));
  }
}

}  // namespace

void register_ledger_store_sqlite(LedgerStoreRegistry& registry) {
  registry.add({
      .name = "sqlite",
      .summary = "a file, of one machine",
      .takes =
          [](const std::string& location) {
            return !location.empty() &&
                   location.find("://") == std::string::npos;
          },
      .exists =
          [](const std::string& location) { return fs::exists(location); },
      .make = make_sqlite,
      .open = [](const std::string& location) -> std::unique_ptr<LedgerStore> {
        return std::make_unique<SqliteLedger>(location);
      },
  });
}

}  // namespace weft
