// A market as a book of a ledger: blocks are its records, and several processes
// keep it together.
//
//   Ledger ledger = Ledger::open("books.db");
//   Market market(ledger);
//   const auto outcome = market.commit({make_transaction(key, …)});
//
// Where genesis names validators, a block counts only with the signatures of a
// majority of them: a process that has so many of their keys may commit alone,
// and replicas do it together (replica.h).
//
// Threads: as its ledger.
// Errors:  Error(kInvalidArgument) for what the market refuses;
// Error(kDataLoss)
//          for a block in the ledger that does not follow.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "weft/ledger/book.h"
#include "weft/market/block.h"

namespace weft::market {

inline constexpr const char* kMarketBook = "market";

// What a market's records come to.
class MarketState {
 public:
  void apply(const LedgerRecord& record);

  bool has_begun() const { return has_begun_; }
  const State& state() const { return state_; }

  // What this process has worked out itself is not worked out again when it
  // comes back as a record.
  void expect(std::shared_ptr<const Draft> draft) const;

 private:
  struct Expected {
    std::string body;
    std::shared_ptr<const Draft> draft;
  };

  State state_;
  bool has_begun_ = false;
  std::shared_ptr<Expected> expected_ = std::make_shared<Expected>();
};

class Market {
 public:
  // Begins one in a ledger that has none.
  static void begin(Ledger& ledger, const Genesis& genesis);

  // `validators` are keys that this process signs blocks with. Throws
  // Error(kUnavailable) where no market has begun.
  explicit Market(Ledger& ledger, std::vector<SigningKey> validators = {});

  Ledger& ledger() { return book_.ledger(); }
  // With all that has been written by now, by whomever.
  const State& current();

  struct Outcome {
    std::int64_t height = 0;  // of the block; what it was where none was made
    std::vector<Refusal> refused;
    std::vector<std::string> notes;
  };
  // Makes a block of what can be applied; time passes, and records that jobs
  // wait for are found, also without a transaction. No block is made where
  // nothing would change but the time. Throws Error(kInvalidArgument) without
  // enough keys.
  Outcome commit(const std::vector<Transaction>& transactions);
  // Such a block without its being written, of a time in seconds since 1970, or
  // of the last block's if that is later.
  Draft draft(std::int64_t time, const std::vector<Transaction>& transactions);
  // Appends a block that enough validators have signed, unless it is there.
  void append(const Block& block);

  // The records of other books that jobs wait for and that are there.
  std::vector<Condition> conditions_met();

 private:
  void check_signatures(const State& state, const Block& block) const;

  Book<MarketState> book_;
  std::vector<SigningKey> validators_;
};

// Calls `visit` with what the market was at its beginning and behind each
// block. Throws Error(kUnavailable) for a ledger without a market, and
// Error(kDataLoss) for a block that notes a record of another book which is not
// in front of it.
State replay(Ledger& ledger,
             const std::function<void(const State&)>& visit = {});

}  // namespace weft::market
