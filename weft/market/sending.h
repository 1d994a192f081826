// Transactions as people and programs send them, one in a block of its own.
//
// Threads: as Market.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/market/market.h"
#include "weft/market/transaction_def.h"

namespace weft::market {

// "approve=true" for each field. Throws Error(kInvalidArgument) for a word that
// sets no field of the transaction, with the nearest, and for a bad value.
Fields fields_from_words(const TransactionDef& def,
                         const std::vector<std::string>& words);

// The next transaction of that key. A job with checks and without a commitment
// is given that of the key (challenge.h).
Transaction next_transaction(Market& market, const SigningKey& key,
                             std::string_view what, Fields fields);

// That tells the secret which draws the stages of a job that are computed
// again: a payer's, as challenge.h makes it of the key. Throws as
// next_secret().
Transaction next_reveal(Market& market, const SigningKey& payer,
                        std::int64_t job);

// Throws Error(kInvalidArgument) with the reason for one that is refused.
Market::Outcome send_alone(Market& market, const Transaction& transaction);

}  // namespace weft::market
