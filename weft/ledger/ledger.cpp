#include "weft/ledger/ledger.h"

#include <chrono>
#include <sodium.h>
#include <thread>

namespace weft {
namespace {

const LedgerStoreDef& store_for(const std::string& location) {
  for (const LedgerStoreDef& def : ledger_store_registry().all()) {
    if (def.takes(location)) return def;
  }
  throw Error(ErrorCode::kInvalidArgument, location, "is no place for a ledger")
      .hint("a file, or postgresql://USER@HOST/DATABASE");
}

std::string drawn_name() {
  std::array<unsigned char, 16> bytes;
  randombytes_buf(bytes.data(), bytes.size());
  std::string name;
  for (const unsigned char byte : bytes) name += fmt::format("{:02x}", byte);
  return name;
}

// What a URL's query says, without passwords. A name that is written with %70
// and the like may be one.
std::string query_without_passwords(std::string_view query) {
  std::string shown;
  while (!query.empty()) {
    const std::string_view item = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(item.size() + 1, query.size()));
    const std::string_view name = item.substr(0, item.find('='));
    if (name.find("password") != name.npos || name.find('%') != name.npos) {
      continue;
    }
    shown += (shown.empty() ? "?" : "&") + std::string(item);
  }
  return shown;
}

// postgresql://user:secret@host/…?password=secret without the secrets.
std::string without_password(const std::string& location) {
  const auto scheme = location.find("://");
  if (scheme == std::string::npos) return location;
  const auto begin = scheme + 3;
  const auto query = std::min(location.find('?', begin), location.size());
  std::string shown = location.substr(0, query);
  const auto at = shown.rfind('@', shown.find('/', begin));
  const auto colon = shown.find(':', begin);
  if (at != std::string::npos && at >= begin && colon < at) {
    shown.erase(colon, at - colon);
  }
  if (query == location.size()) return shown;
  return shown +
         query_without_passwords(std::string_view(location).substr(query + 1));
}

// A server that is started again takes some seconds: a connection is tried for
// a minute, at first often.
constexpr std::chrono::milliseconds kFirstPause{20};
constexpr std::chrono::milliseconds kLongestPause{1000};
constexpr std::chrono::minutes kMostTrying{1};
// Between two looks whether others have written.
constexpr std::chrono::milliseconds kBetweenLooks{50};

}  // namespace

std::int64_t ledger_clock() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

LedgerWriter::LedgerWriter(LedgerStore& store, const LedgerHead& head)
    : store_(store), head_(head), now_(std::max(ledger_clock(), head.time)) {}

std::optional<LedgerRecord> LedgerWriter::find(const std::string& book,
                                               const std::string& key) {
  const auto mine = keys_.find({book, key});
  return mine == keys_.end() ? store_.find(book, key)
                             : std::optional(appended_[mine->second]);
}

const LedgerRecord& LedgerWriter::append(LedgerEntry entry) {
  check(entry);
  if (!entry.key.empty() &&
      !keys_.try_emplace({entry.book, entry.key}, appended_.size()).second) {
    throw Error(ErrorCode::kInvalidArgument, "ledger",
                "the book '{}' has a record of the key '{}' already",
                entry.book, entry.key);
  }
  LedgerRecord record{std::move(entry)};
  record.sequence = head_.sequence + 1;
  record.time = now_;
  record.digest = digest_of(record, head_.digest);
  head_ = {record.sequence, record.time, record.digest};
  return appended_.emplace_back(std::move(record));
}

Ledger Ledger::open(const std::string& location, LedgerMode mode) {
  if (sodium_init() < 0) {
    throw Error(ErrorCode::kUnavailable, "ledger", "libsodium does not start");
  }
  const LedgerStoreDef& def = store_for(location);
  const std::string shown = without_password(location);
  if (!def.exists(location)) {
    if (mode == LedgerMode::kOpen) {
      throw Error(ErrorCode::kUnavailable, shown, "there is no ledger here");
    }
    def.make(location, drawn_name());
  }
  return {shown, def.open(location)};
}

void Ledger::make(const std::string& location, std::string name) {
  const LedgerStoreDef& def = store_for(location);
  if (def.exists(location)) {
    throw Error(ErrorCode::kInvalidArgument, without_password(location),
                "there is something already");
  }
  def.make(location, name.empty() ? drawn_name() : name);
}

void Ledger::run(const std::function<void(LedgerWriter&)>& decide) {
  while (!attempt(decide)) {
  }
}

bool Ledger::attempt(const std::function<void(LedgerWriter&)>& decide) {
  struct Writing {
    bool& flag;
    explicit Writing(bool& is_writing) : flag(is_writing) { flag = true; }
    ~Writing() { flag = false; }
  };
  std::optional<LedgerRecord> last;
  try {
    const Writing writing(is_writing_);
    store_->begin();
    LedgerWriter writer(*store_, end_of(store_->last()));
    decide(writer);
    if (writer.appended_.empty()) {
      store_->rollback();
      return true;
    }
    store_->append(writer.appended_);
    last = writer.appended_.back();
    store_->commit();
    return true;
  } catch (const LedgerDisconnected& lost) {
    connect_again(lost.why);
    // The answer to a commit may be what was lost.
    return last && arrived(*last);
  } catch (...) {
    store_->rollback();
    throw;
  }
}

template <class Read>
auto Ledger::reading(Read&& read) {
  for (;;) {
    try {
      return read();
    } catch (const LedgerDisconnected& lost) {
      if (is_writing_) throw;
      connect_again(lost.why);
    }
  }
}

bool Ledger::arrived(const LedgerRecord& record) {
  return reading([&] {
    bool found = false;
    bool first = true;
    store_->read(record.sequence - 1, [&](LedgerRecord&& there) {
      if (first) found = there.digest == record.digest;
      first = false;
    });
    return found;
  });
}

void Ledger::connect_again(const std::string& why) {
  std::string last = why;
  const auto end = std::chrono::steady_clock::now() + kMostTrying;
  for (auto pause = kFirstPause; std::chrono::steady_clock::now() < end;
       pause = std::min(2 * pause, kLongestPause)) {
    try {
      return store_->reconnect();
    } catch (const LedgerDisconnected& lost) {
      last = lost.why;
    }
    std::this_thread::sleep_for(pause);
  }
  throw Error(ErrorCode::kUnavailable, location_, "the connection is lost: {}",
              last);
}

LedgerHead Ledger::end_of(const std::optional<LedgerRecord>& last) const {
  return last ? LedgerHead{last->sequence, last->time, last->digest}
              : beginning();
}

LedgerHead Ledger::head() {
  return reading([&] { return end_of(store_->last()); });
}

LedgerHead Ledger::read(const LedgerHead& from,
                        const std::function<void(const LedgerRecord&)>& visit) {
  LedgerChain chain(location_, from);
  reading([&] {
    // What was visited before a connection was lost is not visited again.
    store_->read(chain.head().sequence, [&](LedgerRecord&& record) {
      chain.follow(record);
      visit(record);
    });
  });
  return chain.head();
}

void Ledger::wait(std::int64_t after, int milliseconds) {
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::milliseconds(milliseconds);
  while (head().sequence <= after && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

}  // namespace weft
