// What a market knows: all of it follows from its blocks alone.
//
// The state is integers, texts and keys. Applying a block is deterministic: it
// gives the same root on every machine, or throws and must be given up.
//
// Threads: a value type; caller synchronises.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/error.h"
#include "weft/market/association.h"
#include "weft/market/genesis.h"
#include "weft/market/job.h"
#include "weft/market/transaction.h"

namespace weft::market {

struct Account {
  Amount balance = 0;
  std::int64_t nonce = 0;  // of the next transaction
};

struct Shard {
  std::int64_t database = 0;
  PublicKey curator{};
  Digest content{};  // of the encrypted bytes, which is what it is called
  std::int64_t examples = 0;
  Amount reward = 0;  // shares
};

struct Database {
  std::int64_t association = 0;
  std::string name;
  Amount price = 0;  // of a thousand reads of an example
  std::vector<std::int64_t> shards = {};
};

enum class ProposalKind { kPayment = 0, kDatabase = 1, kShard = 2 };

// How a vote went: weights are shares at the deadline.
struct Tally {
  Amount yea = 0;
  Amount nay = 0;

  Amount quorum() const { return yea + nay; }
  // Below 0 where more are against it.
  Amount margin() const { return yea - nay; }
};

struct Proposal {
  std::int64_t association = 0;
  PublicKey proposer{};
  ProposalKind kind = ProposalKind::kPayment;
  Digest payload{};  // what is to be done, which its execution must repeat
  std::int64_t deadline = 0;
  std::map<PublicKey, bool> votes = {};
  std::optional<Tally> tally = {};  // once the deadline is over
  enum class State { kOpen, kPassed, kFailed } state = State::kOpen;
};

struct Model {
  PublicKey owner{};
  std::int64_t database = 0;
  std::string title;
  Digest description{};
  Digest content{};
  Digest extractor{};  // of what makes examples of the data
  bool is_active = false;
};

struct Worker {
  PublicKey machine{};
  Amount price = 0;             // that it asks for a million units of work
  std::set<std::string> tasks;  // that it takes; none: all
  Amount stake = 0;
  std::int64_t reputation = 0;
  std::int64_t job = 0;  // that it runs; 0: none
  bool is_active = true;
};

// What a transaction is applied with.
struct Action {
  const PublicKey& account;
  const Fields& fields;
  // What happened, for people: not part of the state.
  std::vector<std::string>& notes;
};

struct State {
  Genesis genesis;
  Digest market{};
  std::int64_t height = 0;  // blocks
  std::int64_t time = 0;    // of the newest block, seconds since 1970
  Digest root{};            // behind it
  Amount money = 0;         // taken in and not paid out

  std::map<PublicKey, Account> accounts;
  // They are numbered from 1: see entry().
  std::vector<Association> associations;
  std::vector<Database> databases;
  std::vector<Shard> shards;
  std::vector<Proposal> proposals;
  std::vector<Model> models;
  std::vector<Job> jobs;
  std::map<PublicKey, Worker> workers;
  std::map<Digest, std::int64_t> shard_of_content;
  // What must be looked at in each block; all others are over.
  std::set<std::int64_t> live_jobs;
  std::set<std::int64_t> live_proposals;  // without a tally

  Amount balance_of(const PublicKey& account) const;
  // Moves what the account must have: throws Error(kInvalidArgument) if not.
  void take(const PublicKey& account, Amount amount);
  void give(const PublicKey& account, Amount amount);
};

// Throws Error(kInvalidArgument) for a number that there is not: "no shard 7".
template <class T>
const T& entry(const std::vector<T>& entries, std::int64_t number,
               const char* what) {
  if (number < 1 || number > std::ssize(entries)) {
    throw Error(ErrorCode::kInvalidArgument, what, "there is no {} {}", what,
                number);
  }
  return entries[static_cast<std::size_t>(number - 1)];
}
template <class T>
T& entry(std::vector<T>& entries, std::int64_t number, const char* what) {
  return const_cast<T&>(entry(std::as_const(entries), number, what));
}

// A digest of all of it but `root`. Cost: 1 ns a byte.
Digest root_of(const State& state);
// Throws Error(kInternal) unless what accounts, associations, jobs and workers
// hold is what was taken in.
void check_money(const State& state);

// The parts of applying a block. Time goes on: votes are told, late workers
// slashed.
void begin_block(State& state, std::int64_t time,
                 std::vector<std::string>& notes);
// Throws Error(kInvalidArgument) with the reason for one that is refused, which
// then has done nothing. Does not look at the signature.
void apply_request(State& state, const Request& request,
                   std::vector<std::string>& notes);
// A record on which jobs wait is in the ledger.
void meet_condition(State& state, const Condition& condition,
                    std::vector<std::string>& notes);
// Open jobs are given to workers.
void end_block(State& state, std::vector<std::string>& notes);

}  // namespace weft::market
