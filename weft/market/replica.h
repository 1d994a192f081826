// One of several ranks that keep a market together, each in a ledger of its
// own: a block counts once a majority of the market's validators have signed
// it.
//
// All ranks take each step together:
//   1. Each says what its clock shows, how far its ledger is, which block it
//      has signed for the next height, and what transactions wait at it. Who is
//      behind gets what it has missed.
//   2. The proposer of the round, another one in each, makes a block of all
//      that waits, at the time that the middle one of the clocks shows. If
//      somebody has signed a block of this height already, the one of the
//      highest round is proposed again instead: a majority may have signed it,
//      and one of them is here (Lamport, "The Part-Time Parliament", 1998).
//   3. Each applies the block to its own state, writes down that it signs it,
//      and says its signature, or why it does not sign.
//   4. With a majority of signatures the block goes into each ledger.
//
// It survives ranks that crash, come back or refuse, as long as a majority is
// there; against validators that sign two blocks of one height on purpose it
// does not help (Byzantine agreement is not tried).
//
// Threads: as its exchange.
// Errors:  Error(kUnavailable) where a majority is lost; as conversation.h.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/market/conversation.h"
#include "weft/market/market.h"

namespace weft::market {

// Transactions that wait in a ledger until validators have put them into a
// block. Any process may add to them.
inline constexpr const char* kPoolBook = "market pool";
void add_to_pool(Ledger& ledger, const Transaction& transaction);

class Replica {
 public:
  // `told` hears what happens. Collective; throws Error(kUnavailable) unless a
  // majority of the validators is there.
  Replica(Market& market, const SigningKey& validator, TextExchange& ranks,
          std::function<void(const std::string&)> told);

  // Collective: one round. True if a block was added or caught up with. Throws
  // Error(kUnavailable) with all reasons when each rank in turn has proposed a
  // block that no majority signs.
  bool step();
  // Collective: so many rounds, without a rest; 0: until it is ended, with
  // `every` seconds between rounds in which nothing happens.
  void keep(std::int64_t rounds, double every);

 private:
  struct Status;
  struct Signed {
    std::int64_t round = 0;
    Block block;
  };

  std::string own_status();
  static std::int64_t middle_clock(const std::vector<Status>& statuses);
  bool catch_up(const std::vector<Status>& statuses);
  std::string proposal(const std::vector<Status>& statuses, int proposer);
  std::string judge(const Block& block);
  bool sign_and_append(Block block);
  std::vector<Transaction> waiting();
  std::optional<Signed> signed_block();
  void remember(const Block& block);

  Market& market_;
  const SigningKey& key_;
  Conversation conversation_;
  std::function<void(const std::string&)> told_;
  std::int64_t round_ = 0;
  int failed_rounds_ = 0;
  LedgerHead read_;  // of the pool
  std::vector<Transaction> pool_;
};

}  // namespace weft::market
