// What a market begins with, which never changes: who does what in it, and what
// it takes.
//
// Threads: value types and pure functions.
// Errors:  Error(kInvalidArgument).
#pragma once

#include <string>
#include <vector>

#include "weft/market/amount.h"
#include "weft/market/keys.h"

namespace weft::market {

struct Genesis {
  std::string name;
  PublicKey treasurer{};                 // takes money in
  PublicKey platform{};                  // gets the platform's part
  std::vector<PublicKey> checkers = {};  // of models
  std::vector<PublicKey> vendors = {};   // of machines that can be trusted
  // A majority of them signs each block. None: whoever writes the ledger.
  std::vector<PublicKey> validators = {};
  std::int64_t platform_millionths = 50'000;  // of what a job pays others
  Amount least_stake = 100;                   // of a worker that is given jobs
  Amount slashed_stake = 100;                 // that a cheat loses
  std::int64_t most_tryrun_reads = 1000;
  bool pays_second_price = false;  // workers get the next lowest price

  // Whose signatures make a block.
  std::size_t majority() const { return validators.size() / 2 + 1; }
};

std::string to_json(const Genesis& genesis);
Genesis parse_genesis(std::string_view text);
// The market's own name among all: the digest of its text.
Digest market_of(std::string_view genesis_text);

}  // namespace weft::market
