// Where the records of a ledger lie: one file of stores/ for each kind of
// database. A store keeps and finds records, and lets one writer in at a time;
// it knows nothing of chains.
//
// Threads: an object is for one thread.
// Errors:  Error(kUnavailable) for a database that is not there or does not let
//          us in, Error(kExhausted) for a full disk, Error(kDataLoss) for a
//          database that is damaged; LedgerDisconnected where the connection
//          went away, and with it what was not committed yet.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "weft/base/error.h"
#include "weft/base/registry.h"
#include "weft/ledger/record.h"

namespace weft {

// Whether a commit that was under way took place is not known.
struct LedgerDisconnected {
  std::string why;
};

class LedgerStore {
 public:
  virtual ~LedgerStore() = default;

  // Drawn when the ledger was made.
  virtual const std::string& name() const = 0;

  // Between begin() and commit() or rollback() nobody else writes. Waits for
  // the one who does; throws Error(kUnavailable) after a minute of no turn.
  virtual void begin() = 0;
  // They lie on the disk when it returns.
  virtual void append(std::span<const LedgerRecord> records) = 0;
  virtual void commit() = 0;
  virtual void rollback() noexcept = 0;

  // The newest record; nothing in a ledger without one.
  virtual std::optional<LedgerRecord> last() = 0;
  virtual std::optional<LedgerRecord> find(const std::string& book,
                                           const std::string& key) = 0;
  // Those behind `after`, in their order.
  virtual void read(std::int64_t after,
                    const std::function<void(LedgerRecord&&)>& visit) = 0;

  // What the database itself finds wrong with its file, a line each.
  virtual std::vector<std::string> damage() = 0;

  // Connects again. Throws LedgerDisconnected.
  virtual void reconnect() = 0;
};

struct LedgerStoreDef {
  std::string name;     // "sqlite"
  std::string summary;  // for help: "a file, of one machine"
  // Whether it is the one for a location: "books.db", "postgresql://…".
  bool (*takes)(const std::string& location) = nullptr;
  bool (*exists)(const std::string& location) = nullptr;
  // Makes an empty one of that name, unless there is one, made by somebody else
  // at this moment.
  void (*make)(const std::string& location, const std::string& name) = nullptr;
  std::unique_ptr<LedgerStore> (*open)(const std::string& location) = nullptr;
};

using LedgerStoreRegistry = Registry<LedgerStoreDef>;

// It is filled from the files of stores/.
const LedgerStoreRegistry& ledger_store_registry();

}  // namespace weft
