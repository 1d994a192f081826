// An association: those who own databases together, in shares.
//
// Shares are made and unmade only here, by what the association decides. Money
// that its databases earn goes to who held shares when the job began: a job
// keeps the period in which it began, and a period is the time in which
// nobody's shares changed.
//
// A job pays a period in O(1). What a period holds is told apart by largest
// remainder, ties by account, when somebody withdraws or when it ends, so that
// exactly what came in goes out. As quotients are whole, it makes no difference
// whether two jobs are told apart together or by one another.
//
// Threads: value types; caller synchronises.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "weft/market/amount.h"
#include "weft/market/keys.h"

namespace weft::market {

struct Rules {
  std::int64_t quorum = 1;            // least weight of all votes together
  std::int64_t debate = 0;            // seconds from a proposal to its tally
  std::int64_t least_to_propose = 1;  // shares
};

// Between two changes of shares.
struct Period {
  std::map<PublicKey, Amount> shares;
  Amount supply = 0;
  // Money for the holders, whole per share and what is left over: the holders
  // are owed per_share · shares, and `rest` < supply is not told apart yet.
  Amount per_share = 0;
  Amount rest = 0;
  std::int64_t open_jobs = 0;  // that began in it
};

struct Association {
  std::string name;
  PublicKey owner{};
  Rules rules;
  // Shares that the owner got to vote for the first shard with; they are burnt
  // when it is accepted.
  Amount symbolic = 0;
  bool is_started = false;  // it has accepted its first shard
  Amount treasury = 0;
  std::int64_t period = 0;  // the current one
  std::map<std::int64_t, Period> periods{{0, {}}};
  std::map<PublicKey, Amount> owed;  // dividends that were told apart

  const Period& current() const { return periods.at(period); }
  Amount shares_of(const PublicKey& account) const;

  // Throw Error(kInvalidArgument) for more shares than there may be or are.
  void mint(const PublicKey& account, Amount shares);
  void burn(const PublicKey& account, Amount shares);
  void transfer(const PublicKey& from, const PublicKey& to, Amount shares);

  // A job begins; returns its period.
  std::int64_t begin_job();
  void end_job(std::int64_t in_period);
  // Dividends of a job that began in that period; to the treasury where nobody
  // held shares.
  void pay(std::int64_t in_period, Amount amount);
  // Tells apart all that periods without holders' claims unsettled hold.
  void settle();
  // All money of the association and its holders.
  Amount money() const;
};

}  // namespace weft::market
