// What a book of privacy budgets writes, as text: one kind of record for each
// thing that happens.
//
//   rules    how budgets are unlocked and dealt out; the first record, and
//   again
//            where the scheduler changes
//   block    data with a budget of their own, and until when it is given
//   retire   somebody ends that now
//   claim    what a job wants of blocks
//   grant    a claim gets all of it
//   refusal  it gets nothing: it cannot be, or nobody waits for it any more
//   begin    the job reads the data from now on
//   release  what was granted is given back, as the job has not begun
//   pass     the scheduler has looked at all claims that wait
//
// Threads: value types and pure functions.
// Errors:  Error(kDataLoss) for a body that no book has written.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "weft/privacy/renyi_curve.h"

namespace weft {

inline constexpr const char* kBudgetBook = "budget";

struct BudgetRules {
  std::string scheduler = "dpk";  // privacy/scheduler.h
  // privacy/unlocking.h; its times are seconds.
  std::string unlocking = "all";
  // Seconds between two passes: claims that come in between are dealt with
  // together, which lets a scheduler choose. 0: each at once.
  double period = 0;

  bool operator==(const BudgetRules&) const = default;
};

// After which nothing is granted of a block any more, whatever is left of it.
struct Retirement {
  std::int64_t at = 0;      // microseconds since 1970; 0: at no time
  std::int64_t grants = 0;  // claims that get something; 0: any number

  bool operator==(const Retirement&) const = default;
};

struct BlockEntry {
  std::string block;
  privacy::Guarantee guarantee;
  Retirement retirement = {};
};

// A block that somebody retires, and why.
struct RetireEntry {
  std::string block;
  std::string because;
};

struct ClaimEntry {
  std::string claim;  // unique; a job that asks again uses the same
  std::string job;    // for people
  // What the job does to the data of each block (privacy/mechanism.h).
  std::string mechanism;
  std::vector<std::string> blocks;
  double weight = 1;
};

// That a claim got, or did not get.
struct VerdictEntry {
  std::string claim;
  std::string because;
};

std::string body_of(const BudgetRules& rules);
std::string body_of(const BlockEntry& block);
std::string body_of(const RetireEntry& retired);
std::string body_of(const ClaimEntry& claim);
std::string body_of(const VerdictEntry& verdict);

BudgetRules rules_from(std::string_view body);
// Books from before blocks retired say nothing of it.
BlockEntry block_from(std::string_view body);
RetireEntry retire_from(std::string_view body);
ClaimEntry claim_from(std::string_view body);
VerdictEntry verdict_from(std::string_view body);

}  // namespace weft
