// weft market transactions: what can be sent, and with which fields.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include "cli/text_table.h"
#include "cli/verb.h"

#include "weft/market/transaction_def.h"

namespace weft::cli {
namespace {

void print_fields(const market::TransactionDef& def) {
  fmt::print("{}: {}\n", def.name, def.summary);
  std::vector<std::vector<std::string>> rows{{"field", "what", "", ""}};
  for (const market::FieldSpec& field : def.fields) {
    rows.push_back({field.name,
                    field.choices.empty()
                        ? std::string(to_string(field.kind))
                        : fmt::format("{}", fmt::join(field.choices, " | ")),
                    field.is_optional ? "optional" : "", field.summary});
  }
  if (rows.size() > 1) fmt::print("{}", text_table(rows, "<<<<"));
}

void print_transactions(const std::string& name) {
  const auto& registry = market_transaction_registry();
  if (!name.empty()) return print_fields(registry.get(name));
  std::vector<std::vector<std::string>> rows{{"transaction", ""}};
  for (const market::TransactionDef& def : registry.all()) {
    rows.push_back({def.name, def.summary});
  }
  fmt::print("{}", text_table(rows, "<<"));
}

void add_market_transactions(CLI::App& verb) {
  auto name = std::make_shared<std::string>();
  verb.add_option("NAME", *name, "one of them, with its fields");
  verb.callback([name] { print_transactions(*name); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_market_transactions(cli::VerbRegistry& verbs) {
  verbs.add({.name = "market transactions",
             .summary = "List what can be sent to a market",
             .order = 30,
             .add = cli::add_market_transactions});
}

}  // namespace weft
