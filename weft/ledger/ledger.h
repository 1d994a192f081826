// A ledger: records that several processes append, one after another, and that
// nobody changes. What a book knows follows from its records alone (book.h).
//
//   Ledger ledger = Ledger::open("books.db", LedgerMode::kCreate);
//   ledger.transact([&](LedgerWriter& writer) {
//     if (writer.find("budget", job)) return;  // was granted before
//     writer.append({"budget", "grant", body, job});
//   });
//
// A location is a file (SQLite) or postgresql://…, of one server that several
// machines share. What transact() has returned from is on the disk: no kill, no
// crash and no loss of power takes it back. What it has not returned from is
// there as a whole or not at all.
//
// Threads: an object is for one thread; processes and threads that share a
//          ledger open it each for itself.
// Errors:  as store.h; Error(kDataLoss) where the chain is broken.
// Cost:    a transaction waits for the disk once, however many records it has;
//          a record costs about 1 us of hashing and as much of the database.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/ledger/record.h"
#include "weft/ledger/store.h"

namespace weft {

enum class LedgerMode {
  kOpen,    // it must be there
  kCreate,  // is made if it is not
};

// Microseconds since 1970 by this machine's clock, which records are dated by
// unless it is behind them.
std::int64_t ledger_clock();

// What a transaction may do. Lives as long as it.
class LedgerWriter {
 public:
  // Microseconds since 1970: this clock, or the last record's time if that is
  // later.
  std::int64_t now() const { return now_; }
  // The end of the chain, with what this transaction has appended.
  const LedgerHead& head() const { return head_; }
  // A record that was there when the transaction began, or that it has
  // appended.
  std::optional<LedgerRecord> find(const std::string& book,
                                   const std::string& key);
  // Throws Error(kInvalidArgument) for texts that no record may have. One whose
  // key the book has is refused here or when all is written. The reference
  // lives until the next append.
  const LedgerRecord& append(LedgerEntry entry);

 private:
  friend class Ledger;
  LedgerWriter(LedgerStore& store, const LedgerHead& head);

  LedgerStore& store_;
  LedgerHead head_;
  std::int64_t now_;
  std::vector<LedgerRecord> appended_;
  // Where in appended_ the record of a book and key is.
  std::map<std::pair<std::string, std::string>, std::size_t> keys_;
};

class Ledger {
 public:
  // Throws Error(kUnavailable) for one that is not there.
  static Ledger open(const std::string& location,
                     LedgerMode mode = LedgerMode::kOpen);
  // Makes an empty one, where none may be; its name is drawn if none is given.
  static void make(const std::string& location, std::string name = {});

  // As it was opened, without what a URL says of a password.
  const std::string& location() const { return location_; }
  const std::string& name() const { return store_->name(); }

  // Runs `decide` while nobody else writes, and then writes what it appended,
  // at once. What `decide` throws is passed on, and nothing is written. Where
  // the connection goes away, it may be run again: it must do nothing but
  // decide.
  template <class Decide>
  auto transact(Decide&& decide) {
    using Result = std::invoke_result_t<Decide&, LedgerWriter&>;
    if constexpr (std::is_void_v<Result>) {
      run(decide);
    } else {
      std::optional<Result> result;
      run([&](LedgerWriter& writer) { result.emplace(decide(writer)); });
      return *std::move(result);
    }
  }

  LedgerHead head();
  // What a writer would date a record by: this machine's clock, or the last
  // record's time if that is later.
  std::int64_t now() { return std::max(ledger_clock(), head().time); }
  // The records behind `from`, each held to the chain; returns its end.
  LedgerHead read(const LedgerHead& from,
                  const std::function<void(const LedgerRecord&)>& visit);
  LedgerHead beginning() const { return ledger_beginning(name()); }
  // Returns once there may be records behind `after`, or after so long. Looks
  // every 50 ms, which costs a read of one row: a notification would have to
  // come from whoever writes, and a database that older programs write too, or
  // whose server was started again, would be waited for in vain.
  void wait(std::int64_t after, int milliseconds);
  // Without a chain being checked, for what restores damaged ones.
  LedgerStore& store() { return *store_; }

 private:
  Ledger(std::string location, std::unique_ptr<LedgerStore> store)
      : location_(std::move(location)), store_(std::move(store)) {}

  void run(const std::function<void(LedgerWriter&)>& decide);
  // False where the connection went away before anything was written.
  bool attempt(const std::function<void(LedgerWriter&)>& decide);
  bool arrived(const LedgerRecord& record);
  void connect_again(const std::string& why);
  LedgerHead end_of(const std::optional<LedgerRecord>& last) const;
  // Runs what reads, again where the connection goes away.
  template <class Read>
  auto reading(Read&& read);

  std::string location_;
  std::unique_ptr<LedgerStore> store_;
  // Then a lost connection is a lost transaction.
  bool is_writing_ = false;
};

}  // namespace weft
