// weft market show: what a market knows.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/text_table.h"
#include "cli/verb.h"

#include "weft/market/market.h"
#include "weft/market/view.h"

namespace weft::cli {
namespace {

constexpr std::size_t kShownDigits = 8;
constexpr std::size_t kShownColumns = 40;

// Long names of keys are cut, as people tell them apart by their beginning.
std::string cell(const Json& value) {
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    return text.size() == 64 ? text.substr(0, kShownDigits)
                             : cut_to(printable(text), kShownColumns);
  }
  if (value.is_array()) return std::to_string(value.size());
  return value.is_number_integer() ? grouped(value.get<std::int64_t>())
                                   : value.dump();
}

void print_list(const char* title, const Json& list,
                const std::vector<std::string>& columns) {
  if (list.empty()) return;
  std::vector<std::vector<std::string>> rows{columns};
  for (const Json& entry : list) {
    std::vector<std::string> row;
    for (const std::string& column : columns) {
      row.push_back(entry.contains(column) ? cell(entry[column]) : "");
    }
    rows.push_back(std::move(row));
  }
  fmt::print("\n{}\n{}", title,
             text_table(rows, std::string(columns.size(), '<')));
}

void show_market(const std::string& location, bool as_json) {
  Ledger ledger = Ledger::open(location);
  market::Market market(ledger);
  const std::string text = market::state_json(market.current());
  if (as_json) {
    fmt::print("{}\n", text);
    return;
  }
  const Json view = Json::parse(text);
  fmt::print("{}: block {}, root {}, {} of money\n",
             printable(view["name"].get<std::string>()), cell(view["height"]),
             cell(view["root"]), cell(view["money"]));
  print_list("accounts", view["accounts"], {"account", "balance", "nonce"});
  for (const Json& association : view["associations"]) {
    const std::string title =
        fmt::format("association {}: {}, {} shares, quorum {}, treasury {}",
                    cell(association["number"]), cell(association["name"]),
                    cell(association["supply"]), cell(association["quorum"]),
                    cell(association["treasury"]));
    print_list(title.c_str(), association["holders"],
               {"account", "shares", "owed"});
  }
  print_list("databases", view["databases"],
             {"number", "association", "name", "price", "shards"});
  print_list("shards", view["shards"],
             {"number", "database", "curator", "examples", "content"});
  print_list("proposals", view["proposals"],
             {"number", "association", "kind", "state", "yea", "nay"});
  print_list("models", view["models"],
             {"number", "title", "owner", "database", "active"});
  print_list("jobs", view["jobs"],
             {"number", "task", "payer", "state", "outcome", "gas", "escrow"});
  print_list("workers", view["workers"],
             {"account", "price", "stake", "reputation", "job", "active"});
}

void add_market_show(CLI::App& verb) {
  auto ledger = std::make_shared<std::string>();
  auto as_json = std::make_shared<bool>(false);
  verb.add_option("LEDGER", *ledger,
                  "a file, or postgresql://USER@HOST/DATABASE")
      ->required();
  verb.add_flag("--json", *as_json, "print one JSON object, whole");
  verb.callback([ledger, as_json] { show_market(*ledger, *as_json); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_market_show(cli::VerbRegistry& verbs) {
  verbs.add({.name = "market show",
             .summary = "Print accounts, shares, jobs and workers",
             .order = 48,
             .add = cli::add_market_show});
}

}  // namespace weft
