// Puts a ledger together from what is left of it and from copies.
#include <fstream>
#include <memory>

#include "weft/ledger/export.h"
#include "weft/ledger/verify.h"

namespace weft {
namespace {

constexpr std::size_t kRestoredAtOnce = 10'000;

using TakeRecord = std::function<bool(LedgerRecord&&)>;

// Something that has records of a ledger.
struct RestoreSource {
  std::string location;
  std::string name;  // of the ledger
  // Those behind a number, until they are no more taken.
  std::function<void(std::int64_t, const TakeRecord&)> read;
};

struct EnoughRead {};

RestoreSource ledger_source(const std::string& location) {
  auto ledger = std::make_shared<Ledger>(Ledger::open(location));
  return {location, ledger->name(),
          [ledger](std::int64_t after, const TakeRecord& take) {
            try {
              ledger->store().read(after, [&](LedgerRecord&& record) {
                if (!take(std::move(record))) throw EnoughRead();
              });
            } catch (const EnoughRead&) {
              // Whoever takes the records wants no more of them.
            }
          }};
}

RestoreSource export_source(const std::string& location) {
  auto text = std::make_shared<LedgerExport>(location);
  return {location, text->name(),
          [text](std::int64_t after, const TakeRecord& take) {
            text->read([&](LedgerRecord&& record) {
              return record.sequence <= after || take(std::move(record));
            });
          }};
}

// A file that begins with a brace is an export.
bool is_export(const std::string& location) {
  return location.find("://") == std::string::npos &&
         std::ifstream(location).peek() == '{';
}

// Takes what follows in the chain, in transactions of the new ledger.
class Restored {
 public:
  Restored(const std::string& location, const std::string& name)
      : store_(Ledger::open(location)),
        chain_(location, ledger_beginning(name)) {}

  const LedgerHead& head() const { return chain_.head(); }

  bool take(LedgerRecord&& record) {
    try {
      chain_.follow(record);
    } catch (const Error&) {
      return false;  // another source may have the one that belongs here
    }
    waiting_.push_back(std::move(record));
    if (waiting_.size() == kRestoredAtOnce) write();
    return true;
  }
  void write() {
    if (waiting_.empty()) return;
    store_.store().begin();
    store_.store().append(waiting_);
    store_.store().commit();
    waiting_.clear();
  }

 private:
  Ledger store_;
  LedgerChain chain_;
  std::vector<LedgerRecord> waiting_;
};

}  // namespace

LedgerHead restore(const std::string& damaged,
                   const std::vector<std::string>& copies,
                   const std::string& to) {
  std::vector<RestoreSource> sources;
  try {
    sources.push_back(ledger_source(damaged));
  } catch (const Error& error) {
    // Nothing is left of a file whose first page is damaged; copies may have
    // all.
    if (error.code() != ErrorCode::kDataLoss || copies.empty()) throw;
  }
  for (const std::string& copy : copies) {
    sources.push_back(is_export(copy) ? export_source(copy)
                                      : ledger_source(copy));
    if (sources.back().name != sources.front().name) {
      throw Error(ErrorCode::kInvalidArgument, copy,
                  "is a copy of another ledger: {} instead of {}",
                  sources.back().name, sources.front().name);
    }
  }
  Ledger::make(to, sources.front().name);
  Restored restored(to, sources.front().name);
  for (bool is_further = true; is_further;) {
    const std::int64_t before = restored.head().sequence;
    for (const RestoreSource& source : sources) {
      try {
        source.read(restored.head().sequence, [&](LedgerRecord&& record) {
          return restored.take(std::move(record));
        });
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kDataLoss) throw;
      }
    }
    is_further = restored.head().sequence > before;
  }
  restored.write();
  return restored.head();
}

}  // namespace weft
