// A ledger as text: a line of JSON for each record, which anybody can keep,
// send and check. The first line says whose they are:
//
//   {"ledger":"9c5e…","format":1}
//   {"sequence":1,"time":1764115200000000,"book":"budget","kind":"block",
//    "key":"day 1","body":"{…}","digest":"77af…"}
//
// Threads: pure functions but for the files.
// Errors:  Error(kDataLoss) with the line for a text that is no such file.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>

#include "weft/ledger/record.h"

namespace weft {

std::string export_heading(const std::string& name);
// Without a line feed.
std::string export_line(const LedgerRecord& record);
// `where` names the line in errors.
LedgerRecord record_from_line(std::string_view line, const std::string& where);

// The records of such a text, in its order, without lines that are damaged;
// nothing is held to the chain. Reads a line at a time, at most twice
// kMostBodyBytes long, and until `visit` says false.
class LedgerExport {
 public:
  explicit LedgerExport(const std::filesystem::path& path);

  const std::string& name() const { return name_; }
  void read(const std::function<bool(LedgerRecord&&)>& visit) const;

 private:
  std::filesystem::path path_;
  std::string name_;
};

}  // namespace weft
