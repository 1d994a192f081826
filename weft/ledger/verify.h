// Whether a ledger is what was written: every record follows from the one
// before it, and the database finds nothing wrong with its file.
//
// A chain tells any change, but not that its newest records are missing: for
// this, note its end (a head) somewhere else, and hold the ledger to it later.
//
// Threads: as its ledger.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weft/ledger/ledger.h"

namespace weft {

struct LedgerCheck {
  LedgerHead head;                            // of the part that holds
  std::map<std::string, std::int64_t> books;  // its records of each
  // What is wrong with the first record that does not hold.
  std::optional<std::string> broken;
  // What the database finds wrong: pages and trees of its file.
  std::vector<std::string> damage;

  bool holds() const { return !broken && damage.empty(); }
};

// `noted` are ends of the chain of earlier times, which must be in it.
LedgerCheck verify(Ledger& ledger, const std::vector<LedgerHead>& noted = {});

// "12:77af…", as a head is noted, and back; its time is not in it.
std::string to_text(const LedgerHead& head);
// Throws Error(kInvalidArgument).
LedgerHead head_from_text(const std::string& text);

// Makes a ledger at `to`, where none may be, of what holds in `damaged` and in
// `copies` (other ledgers and exports of the same one): records are taken from
// whichever has the next. Returns the end of its chain.
// Throws Error(kInvalidArgument) for copies of another ledger.
LedgerHead restore(const std::string& damaged,
                   const std::vector<std::string>& copies,
                   const std::string& to);

}  // namespace weft
