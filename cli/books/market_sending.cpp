#include "cli/books/market_sending.h"

#include <fmt/core.h>

#include "cli/terminal.h"

namespace weft::cli {

void add_validators_option(CLI::App& verb, std::vector<std::string>& files) {
  verb.add_option("--validator", files,
                  "a file with a validator's key, where a majority must sign; "
                  "several, if repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

std::vector<market::SigningKey> validators_in(
    const std::vector<std::string>& files) {
  std::vector<market::SigningKey> keys;
  for (const std::string& file : files) {
    keys.push_back(market::SigningKey::read(file));
  }
  return keys;
}

void send_and_print(market::Market& market,
                    const market::Transaction& transaction) {
  print_notes(market::send_alone(market, transaction));
}

void print_notes(const market::Market::Outcome& outcome) {
  for (const std::string& note : outcome.notes) {
    fmt::print("{}\n", printable(note));
  }
  fmt::print("block {}\n", outcome.height);
}

}  // namespace weft::cli
