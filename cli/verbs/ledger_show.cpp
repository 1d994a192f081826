// weft ledger show: the records of a ledger, as they come if asked for.
#include <CLI/CLI.hpp>
#include <fmt/chrono.h>
#include <fmt/core.h>

#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/text_table.h"
#include "cli/verb.h"

#include "weft/ledger/export.h"
#include "weft/ledger/ledger.h"

namespace weft::cli {
namespace {

struct LedgerShowArguments {
  std::string ledger;
  std::string book;
  std::string kind;
  std::int64_t after = 0;
  std::int64_t last = 0;
  bool follow = false;
  bool as_json = false;
};

constexpr int kFollowMilliseconds = 1000;
constexpr std::size_t kShownBodyColumns = 60;

std::string moment_text(std::int64_t microseconds) {
  const std::time_t time = microseconds / 1'000'000;
  std::tm local{};
  localtime_r(&time, &local);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", local);
}

std::vector<std::string> record_row(const LedgerRecord& record) {
  return {std::to_string(record.sequence),
          moment_text(record.time),
          printable(record.book),
          printable(record.kind),
          printable(record.key),
          cut_to(printable(record.body), kShownBodyColumns)};
}

void show_ledger(const LedgerShowArguments& arguments) {
  Ledger ledger = Ledger::open(arguments.ledger);
  LedgerHead head = ledger.beginning();
  for (bool is_first = true; is_first || arguments.follow; is_first = false) {
    std::vector<LedgerRecord> records;
    head = ledger.read(head, [&](const LedgerRecord& record) {
      if (record.sequence <= arguments.after ||
          (!arguments.book.empty() && record.book != arguments.book) ||
          (!arguments.kind.empty() && record.kind != arguments.kind)) {
        return;
      }
      records.push_back(record);
      if (arguments.last > 0 && is_first &&
          std::ssize(records) > arguments.last) {
        records.erase(records.begin());
      }
    });
    if (arguments.as_json) {
      for (const LedgerRecord& record : records) {
        fmt::print("{}\n", export_line(record));
      }
    } else if (is_first || !records.empty()) {
      std::vector<std::vector<std::string>> rows;
      if (is_first) {
        rows.push_back({"record", "when", "book", "what", "key", "says"});
      }
      for (const LedgerRecord& record : records) {
        rows.push_back(record_row(record));
      }
      fmt::print("{}", text_table(rows, "><<<<<"));
    }
    std::fflush(stdout);
    if (arguments.follow) ledger.wait(head.sequence, kFollowMilliseconds);
  }
}

void add_ledger_show(CLI::App& verb) {
  auto arguments = std::make_shared<LedgerShowArguments>();
  verb.add_option("LEDGER", arguments->ledger,
                  "a file, or postgresql://USER@HOST/DATABASE")
      ->required();
  verb.add_option("--book", arguments->book, "records of this book only");
  verb.add_option("--kind", arguments->kind, "records of this kind only");
  verb.add_option("--after", arguments->after, "records behind this one")
      ->check(CLI::NonNegativeNumber);
  verb.add_option("--last", arguments->last, "so many of the newest ones")
      ->check(CLI::PositiveNumber);
  verb.add_flag("--follow", arguments->follow,
                "go on with what is written from now on");
  verb.add_flag("--json", arguments->as_json,
                "print an object for each record, whole");
  verb.callback([arguments] { show_ledger(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_ledger_show(cli::VerbRegistry& verbs) {
  verbs.add({.name = "ledger show",
             .summary = "Print the records of a ledger",
             .order = 10,
             .add = cli::add_ledger_show});
}

}  // namespace weft
