// weft ledger restore: a ledger from what is left of it and from copies.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/verb.h"

#include "weft/ledger/verify.h"

namespace weft::cli {
namespace {

struct LedgerRestoreArguments {
  std::string damaged;
  std::vector<std::string> copies;
  std::string out;
};

void restore_ledger(const LedgerRestoreArguments& arguments) {
  const LedgerHead head =
      restore(arguments.damaged, arguments.copies, arguments.out);
  fmt::print("{} holds up to {}\n", arguments.out, to_text(head));
}

void add_ledger_restore(CLI::App& verb) {
  auto arguments = std::make_shared<LedgerRestoreArguments>();
  verb.add_option("LEDGER", arguments->damaged, "the one that is damaged")
      ->required();
  verb.add_option("COPIES", arguments->copies,
                  "exports and other ledgers with the same records; records "
                  "are taken from whichever has the next");
  verb.add_option("-o,--out", arguments->out, "where to make the new one")
      ->required();
  verb.callback([arguments] { restore_ledger(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_ledger_restore(cli::VerbRegistry& verbs) {
  verbs.add({.name = "ledger restore",
             .summary = "Put a damaged ledger together, with copies of it",
             .order = 40,
             .add = cli::add_ledger_restore});
}

}  // namespace weft
