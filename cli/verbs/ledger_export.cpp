// weft ledger export: a ledger as lines of JSON.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/verb.h"

#include "weft/base/file.h"
#include "weft/ledger/export.h"
#include "weft/ledger/ledger.h"

namespace weft::cli {
namespace {

struct LedgerExportArguments {
  std::string ledger;
  std::string out;
};

void export_ledger(const LedgerExportArguments& arguments) {
  Ledger ledger = Ledger::open(arguments.ledger);
  std::optional<AtomicFile> file;
  if (!arguments.out.empty()) file.emplace(arguments.out);
  const auto write = [&](std::string line) {
    line += '\n';
    if (file) {
      file->write(line);
    } else {
      std::fwrite(line.data(), 1, line.size(), stdout);
    }
  };
  write(export_heading(ledger.name()));
  ledger.read(ledger.beginning(),
              [&](const LedgerRecord& record) { write(export_line(record)); });
  if (file) file->commit();
}

void add_ledger_export(CLI::App& verb) {
  auto arguments = std::make_shared<LedgerExportArguments>();
  verb.add_option("LEDGER", arguments->ledger,
                  "a file, or postgresql://USER@HOST/DATABASE")
      ->required();
  verb.add_option("-o,--out", arguments->out,
                  "where to write it, instead of standard output");
  verb.callback([arguments] { export_ledger(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_ledger_export(cli::VerbRegistry& verbs) {
  verbs.add({.name = "ledger export",
             .summary = "Write a copy of a ledger as lines of JSON",
             .order = 30,
             .add = cli::add_ledger_export});
}

}  // namespace weft
