// What verbs of the market have in common: whose keys, and what became of it.
#pragma once

#include <string>
#include <vector>

#include "weft/market/market.h"

namespace weft::cli {

// The keys in these files.
std::vector<market::SigningKey> validators_in(
    const std::vector<std::string>& files);

// The next transaction of that key.
market::Transaction next_transaction(market::Market& market,
                                     const market::SigningKey& key,
                                     const std::string& what,
                                     market::Fields fields);

// Sends it in a block of its own, prints what happened, and throws
// Error(kInvalidArgument) with the reason if it was refused.
void send_alone(market::Market& market, const market::Transaction& transaction);

// Prints what happened in a block.
void print_notes(const market::Market::Outcome& outcome);

}  // namespace weft::cli
