// A ledger on a PostgreSQL server, which several machines share: one table in
// the schema that the URL's search_path names, or the default one.
//
// A writer holds a lock of the table that other writers wait for and readers do
// not see. A commit returns once the server's log is on its disk; a server that
// is told not to wait for its disk is refused.
#include <bit>
#include <cstring>

#include "weft/ledger/libpq.h"
#include "weft/ledger/store.h"

namespace weft {
namespace {

constexpr std::int64_t kRowsAtOnce = 4096;  // bound what a read holds

constexpr const char* kServerTables = R"(
SELECT pg_advisory_xact_lock(8603413);
CREATE TABLE IF NOT EXISTS weft_ledger (name text NOT NULL);
CREATE TABLE IF NOT EXISTS weft_ledger_record (
  sequence bigint PRIMARY KEY,
  time bigint NOT NULL,
  book text NOT NULL,
  kind text NOT NULL,
  key text NOT NULL,
  body text NOT NULL,
  digest bytea NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS weft_ledger_record_key
  ON weft_ledger_record (book, key) WHERE key <> '';
CREATE OR REPLACE FUNCTION weft_ledger_refuse() RETURNS trigger
  LANGUAGE plpgsql AS
  'BEGIN RAISE EXCEPTION ''records of a ledger are not changed''; END';
CREATE OR REPLACE TRIGGER weft_ledger_change
  BEFORE UPDATE OR DELETE OR TRUNCATE ON weft_ledger_record
  FOR EACH STATEMENT EXECUTE FUNCTION weft_ledger_refuse();
)";

constexpr const char* kServerColumns =
    "SELECT sequence, time, book, kind, key, body, digest "
    "FROM weft_ledger_record ";

struct ClearResult {
  void operator()(PGresult* result) const { libpq().clear(result); }
};
using Result = std::unique_ptr<PGresult, ClearResult>;

struct CloseServer {
  void operator()(PGconn* connection) const { libpq().finish(connection); }
};
using ServerConnection = std::unique_ptr<PGconn, CloseServer>;

// libpq's messages are of several lines.
std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (char& character : text) {
    if (character == '\n' || character == '\t') character = ' ';
  }
  return text;
}

ErrorCode code_of_state(std::string_view state) {
  if (state == "53100") return ErrorCode::kExhausted;        // disk full
  if (state == "23505") return ErrorCode::kInvalidArgument;  // key is there
  if (state.starts_with("XX")) return ErrorCode::kDataLoss;
  return ErrorCode::kUnavailable;
}

template <class Number>
Number big_endian(Number number) {
  static_assert(std::endian::native == std::endian::little);
  if constexpr (sizeof(Number) == 8) {
    return static_cast<Number>(
        __builtin_bswap64(static_cast<std::uint64_t>(number)));
  } else if constexpr (sizeof(Number) == 4) {
    return static_cast<Number>(
        __builtin_bswap32(static_cast<std::uint32_t>(number)));
  } else {
    return static_cast<Number>(
        __builtin_bswap16(static_cast<std::uint16_t>(number)));
  }
}

// Rows as COPY takes them in binary.
class CopyRows {
 public:
  CopyRows() {
    rows_.assign("PGCOPY\n\377\r\n\0", 11);
    number(std::int32_t{0});  // flags
    number(std::int32_t{0});  // no more of a header
  }
  void add(const LedgerRecord& record) {
    number(std::int16_t{7});
    field(record.sequence);
    field(record.time);
    for (const std::string* text :
         {&record.book, &record.kind, &record.key, &record.body}) {
      field(text->data(), text->size());
    }
    field(record.digest.data(), record.digest.size());
  }
  void end() { number(std::int16_t{-1}); }
  std::string take() { return std::exchange(rows_, {}); }
  std::size_t size() const { return rows_.size(); }

 private:
  template <class Number>
  void number(Number value) {
    const Number swapped = big_endian(value);
    rows_.append(reinterpret_cast<const char*>(&swapped), sizeof swapped);
  }
  void field(std::int64_t value) {
    number(std::int32_t{8});
    number(value);
  }
  void field(const void* bytes, std::size_t count) {
    number(static_cast<std::int32_t>(count));
    rows_.append(static_cast<const char*>(bytes), count);
  }

  std::string rows_;
};

class Server {
 public:
  explicit Server(std::string location) : location_(std::move(location)) {}

  // Throws LedgerDisconnected.
  void connect() {
    connection_.reset(libpq().connectdb(location_.c_str()));
    if (libpq().status(connection_.get()) != CONNECTION_OK) {
      throw LedgerDisconnected{
          one_line(libpq().errorMessage(connection_.get()))};
    }
    execute(
        "SET synchronous_commit = on; SET lock_timeout = '60s'; "
        "SET client_min_messages = warning");
  }
  PGconn* get() const { return connection_.get(); }

  Result execute(const char* statements) {
    return checked(Result(libpq().exec(connection_.get(), statements)));
  }
  // Results come in binary.
  Result query(const std::string& text,
               std::initializer_list<std::string> values) {
    std::vector<const char*> pointers;
    for (const std::string& value : values) pointers.push_back(value.c_str());
    return checked(Result(libpq().execParams(
        connection_.get(), text.c_str(), static_cast<int>(pointers.size()),
        /*paramTypes=*/nullptr, pointers.data(), /*paramLengths=*/nullptr,
        /*paramFormats=*/nullptr, /*resultFormat=*/1)));
  }
  void copy(const std::string& rows) {
    if (libpq().putCopyData(connection_.get(), rows.data(),
                            static_cast<int>(rows.size())) != 1) {
      throw failure(nullptr);
    }
  }
  void end_copy() {
    if (libpq().putCopyEnd(connection_.get(), nullptr) != 1)
      throw failure(nullptr);
    Result result(libpq().getResult(connection_.get()));
    // Nothing else is sent before this has come to its end.
    while (const Result more{libpq().getResult(connection_.get())}) {
    }
    checked(std::move(result));
  }

 private:
  Result checked(Result result) {
    switch (libpq().resultStatus(result.get())) {
      case PGRES_COMMAND_OK:
      case PGRES_TUPLES_OK:
      case PGRES_COPY_IN:
        return result;
      default:
        throw failure(result.get());
    }
  }
  // Throws LedgerDisconnected instead where nobody is at the other end.
  Error failure(const PGresult* result) {
    const std::string message =
        one_line(libpq().errorMessage(connection_.get()));
    const char* state =
        result ? libpq().resultErrorField(result, PG_DIAG_SQLSTATE) : nullptr;
    // What no server has said is libpq's: it has lost the connection. 57P01 to
    // 57P03 are a server's last words.
    if (libpq().status(connection_.get()) != CONNECTION_OK ||
        state == nullptr || std::string_view(state).starts_with("57P0")) {
      throw LedgerDisconnected{message};
    }
    return Error(code_of_state(state), "ledger", "{}", message);
  }

  std::string location_;
  ServerConnection connection_;
};

std::int64_t server_number(const Result& result, int row, int column) {
  std::int64_t value = 0;
  std::memcpy(&value, libpq().getvalue(result.get(), row, column),
              sizeof value);
  return big_endian(value);
}
std::string server_text(const Result& result, int row, int column) {
  return {
      libpq().getvalue(result.get(), row, column),
      static_cast<std::size_t>(libpq().getlength(result.get(), row, column))};
}
LedgerRecord server_record(const Result& result, int row) {
  LedgerRecord record{{.book = server_text(result, row, 2),
                       .kind = server_text(result, row, 3),
                       .body = server_text(result, row, 5),
                       .key = server_text(result, row, 4)}};
  record.sequence = server_number(result, row, 0);
  record.time = server_number(result, row, 1);
  // One of another length is damage, which the chain then finds.
  if (libpq().getlength(result.get(), row, 6) ==
      static_cast<int>(record.digest.size())) {
    std::memcpy(record.digest.data(), libpq().getvalue(result.get(), row, 6),
                record.digest.size());
  }
  return record;
}

// A first connection that fails is an error of the user's.
Server connected(const std::string& location) {
  Server server(location);
  try {
    server.connect();
  } catch (const LedgerDisconnected& lost) {
    throw Error(ErrorCode::kUnavailable, "ledger", "{}", lost.why)
        .hint(
            "does the server run, and does the URL name a user and a "
            "database that are there?");
  }
  return server;
}

class PostgresqlLedger : public LedgerStore {
 public:
  explicit PostgresqlLedger(const std::string& location)
      : server_(connected(location)) {
    const Result durable = server_.query("SHOW fsync", {});
    if (server_text(durable, 0, 0) != "on") {
      throw Error(ErrorCode::kUnsupported, "ledger",
                  "the server does not wait for its disk (fsync = off): what "
                  "it says is written may be lost")
          .hint("set fsync = on in postgresql.conf");
    }
    const Result name = server_.query("SELECT name FROM weft_ledger", {});
    if (libpq().ntuples(name.get()) != 1) {
      throw Error(ErrorCode::kDataLoss, "ledger",
                  "the table weft_ledger has {} names, where 1 belongs",
                  libpq().ntuples(name.get()));
    }
    name_ = server_text(name, 0, 0);
  }

  const std::string& name() const override { return name_; }

  void begin() override {
    server_.execute("BEGIN");
    server_.execute("LOCK TABLE weft_ledger_record IN EXCLUSIVE MODE");
  }
  void append(std::span<const LedgerRecord> records) override {
    constexpr std::size_t kBytesAtOnce = 1 << 20;
    server_.execute("COPY weft_ledger_record FROM STDIN (FORMAT binary)");
    CopyRows rows;
    for (const LedgerRecord& record : records) {
      rows.add(record);
      if (rows.size() > kBytesAtOnce) server_.copy(rows.take());
    }
    rows.end();
    server_.copy(rows.take());
    server_.end_copy();
  }
  void commit() override {
    const Result result = server_.execute("COMMIT");
    // A transaction that failed ends with COMMIT, too.
    WEFT_CHECK(std::string_view(libpq().cmdStatus(result.get())) == "COMMIT");
  }
  void rollback() noexcept override {
    if (libpq().transactionStatus(server_.get()) != PQTRANS_IDLE) {
      const Result ignored(libpq().exec(server_.get(), "ROLLBACK"));
    }
  }

  std::optional<LedgerRecord> last() override {
    return only(server_.query(
        std::string(kServerColumns) + "ORDER BY sequence DESC LIMIT 1", {}));
  }
  std::optional<LedgerRecord> find(const std::string& book,
                                   const std::string& key) override {
    return only(server_.query(std::string(kServerColumns) +
                                  "WHERE book = $1 AND key = $2 AND key <> ''",
                              {book, key}));
  }
  void read(std::int64_t after,
            const std::function<void(LedgerRecord&&)>& visit) override {
    const std::string text =
        std::string(kServerColumns) +
        "WHERE sequence > $1::bigint ORDER BY sequence LIMIT $2::bigint";
    for (;;) {
      const Result rows = server_.query(
          text, {std::to_string(after), std::to_string(kRowsAtOnce)});
      const int count = libpq().ntuples(rows.get());
      for (int row = 0; row < count; ++row) {
        LedgerRecord record = server_record(rows, row);
        after = record.sequence;
        visit(std::move(record));
      }
      if (count < kRowsAtOnce) return;
    }
  }

  // The server checks its pages as it reads them, if it was made so.
  std::vector<std::string> damage() override { return {}; }

  void reconnect() override { server_.connect(); }

 private:
  static std::optional<LedgerRecord> only(const Result& result) {
    return libpq().ntuples(result.get()) > 0
               ? std::optional(server_record(result, 0))
               : std::nullopt;
  }

  Server server_;
  std::string name_;
};

bool is_server(const std::string& location) {
  return location.starts_with("postgresql://") ||
         location.starts_with("postgres://");
}

bool server_has_ledger(const std::string& location) {
  Server server = connected(location);
  const Result found = server.query(
      "SELECT 1 WHERE to_regclass('weft_ledger_record') IS NOT NULL", {});
  return libpq().ntuples(found.get()) > 0;
}

void make_on_server(const std::string& location, const std::string& name) {
  Server server = connected(location);
  server.execute("BEGIN");
  server.execute(kServerTables);
  server.query(
      "INSERT INTO weft_ledger SELECT $1::text "
      "WHERE NOT EXISTS (SELECT FROM weft_ledger)",
      {name});
  server.execute("COMMIT");
}

}  // namespace

void register_ledger_store_postgresql(LedgerStoreRegistry& registry) {
  registry.add({
      .name = "postgresql",
      .summary = "a PostgreSQL server, which several machines share",
      .takes = is_server,
      .exists = server_has_ledger,
      .make = make_on_server,
      .open = [](const std::string& location) -> std::unique_ptr<LedgerStore> {
        return std::make_unique<PostgresqlLedger>(location);
      },
  });
}

}  // namespace weft
