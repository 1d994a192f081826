// What verbs of the market have in common: whose keys, and what became of it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "weft/market/sending.h"

namespace weft::cli {

// --validator, with files for validators_in().
void add_validators_option(CLI::App& verb, std::vector<std::string>& files);
// The keys in these files.
std::vector<market::SigningKey> validators_in(
    const std::vector<std::string>& files);

// Sends it in a block of its own, and prints what happened.
void send_and_print(market::Market& market,
                    const market::Transaction& transaction);

// Prints what happened in a block.
void print_notes(const market::Market::Outcome& outcome);

}  // namespace weft::cli
