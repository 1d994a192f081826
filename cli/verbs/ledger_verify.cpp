// weft ledger verify: whether every record is what was written.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/verb.h"

#include "weft/ledger/verify.h"

namespace weft::cli {
namespace {

struct LedgerVerifyArguments {
  std::string ledger;
  std::vector<std::string> heads;
  bool as_json = false;
};

void print_check(const LedgerCheck& check) {
  for (const auto& [book, records] : check.books) {
    fmt::print("{:>12} records  {}\n", grouped(records), printable(book));
  }
  fmt::print("holds up to     {}\n", to_text(check.head));
  if (check.broken)
    fmt::print("then            {}\n", printable(*check.broken));
  for (const std::string& line : check.damage) {
    fmt::print("the database    {}\n", printable(line));
  }
}

void verify_ledger(const LedgerVerifyArguments& arguments) {
  std::vector<LedgerHead> noted;
  for (const std::string& text : arguments.heads) {
    noted.push_back(head_from_text(text));
  }
  Ledger ledger = Ledger::open(arguments.ledger);
  const LedgerCheck check = verify(ledger, noted);
  if (arguments.as_json) {
    print_json({{"holds", check.holds()},
                {"records", check.head.sequence},
                {"head", to_text(check.head)},
                {"books", check.books},
                {"broken", check.broken ? Json(*check.broken) : Json()},
                {"damage", check.damage}});
  } else {
    print_check(check);
  }
  if (!check.holds()) {
    throw Error(ErrorCode::kDataLoss, ledger.location(),
                "is not what was written")
        .hint(
            "weft ledger restore puts it together from what holds and from "
            "copies");
  }
}

void add_ledger_verify(CLI::App& verb) {
  auto arguments = std::make_shared<LedgerVerifyArguments>();
  verb.add_option("LEDGER", arguments->ledger,
                  "a file, or postgresql://USER@HOST/DATABASE")
      ->required();
  verb.add_option("--head", arguments->heads,
                  "an end of the chain that was noted earlier, which must "
                  "still be in it")
      ->type_name("NUMBER:DIGEST");
  verb.add_flag("--json", arguments->as_json, "print one JSON object");
  verb.callback([arguments] { verify_ledger(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_ledger_verify(cli::VerbRegistry& verbs) {
  verbs.add({.name = "ledger verify",
             .summary = "Say whether a ledger is what was written",
             .order = 20,
             .add = cli::add_ledger_verify});
}

}  // namespace weft
