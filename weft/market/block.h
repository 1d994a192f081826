// Transactions that were applied together, and what the state was behind them.
// A block is a record of the ledger; genesis is the first.
//
// Threads: value types and pure functions.
// Errors:  Error(kDataLoss) for a text that is no block;
// Error(kInvalidArgument)
//          for one that does not follow from the state.
#pragma once

#include <string>
#include <vector>

#include "weft/market/state.h"

namespace weft::market {

struct Block {
  std::int64_t height = 0;
  std::int64_t time = 0;   // seconds since 1970
  std::int64_t round = 0;  // in which validators agreed on it (replica.h)
  Digest previous{};       // root in front of it
  std::vector<Transaction> transactions;
  // Records of other books that jobs wait for and that are there.
  std::vector<Condition> met;
  Digest root{};  // behind it
  // What validators of the market sign is digest_of(block).
  std::vector<std::pair<PublicKey, Signature>> signatures;

  bool operator==(const Block&) const = default;
};

std::string to_json(const Block& block);
Block parse_block(std::string_view text);

// All of it but the signatures.
Digest digest_of(const Block& block);
Signature sign_block(const SigningKey& validator, const Block& block);
// How many different validators have signed it. Throws Error(kInvalidArgument)
// for a signature that is none, or is not of a validator's.
std::size_t count_signatures(const Genesis& genesis, const Block& block);

// A transaction that was not taken, and why.
struct Refusal {
  std::size_t transaction = 0;  // among those that were given
  std::string why;
};

// A block that would follow, and what would then be.
struct Draft {
  Block block;
  State state;
  std::vector<Refusal> refused;
  std::vector<std::string> notes;
};

// Takes of the transactions what can be applied, in their order, at that time
// or the state's if that is later.
Draft draft_block(State state, std::int64_t time,
                  const std::vector<Transaction>& transactions,
                  const std::vector<Condition>& met = {});

// Applies a block that somebody else made: all of it is checked but whether
// enough have signed it. Cost: 60 us a transaction, on as many threads as there
// are, nearly all of it for their signatures.
void apply_block(State& state, const Block& block,
                 std::vector<std::string>& notes);

// What is behind genesis. Throws Error(kInvalidArgument).
State beginning_of(std::string_view genesis_text);

}  // namespace weft::market
