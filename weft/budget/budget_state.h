// What follows from the records of a book of privacy budgets: which blocks
// there are, what was consumed of each, and how each claim stands.
//
// Threads: a value type.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weft/budget/budget_record.h"
#include "weft/ledger/record.h"
#include "weft/privacy/budget.h"

namespace weft {

enum class ClaimStanding { kWaiting, kGranted, kBegun, kRefused, kReleased };

// "waiting", "granted", …
std::string_view to_string(ClaimStanding standing);

struct KeptBlock {
  privacy::Guarantee guarantee;
  privacy::RenyiCurve capacity;
  privacy::RenyiCurve consumed;
  std::int64_t since = 0;   // microseconds since 1970
  std::int64_t claims = 0;  // that have asked of it
  std::int64_t grants = 0;  // of these, that got something
  Retirement retirement = {};
  std::string retired = {};  // why somebody has retired it; empty: nobody has

  // Why nothing is granted of it any more at a time; nothing if something is.
  std::optional<std::string> gone(std::int64_t now) const;
  // How long it is given, for people; empty: as long as something is left.
  std::string retirement_text(std::int64_t now) const;
};

struct KeptClaim {
  ClaimEntry entry;
  privacy::RenyiCurve demand;  // of each of its blocks
  ClaimStanding standing = ClaimStanding::kWaiting;
  std::string because;
  std::int64_t since = 0;  // microseconds since 1970
  std::int64_t until = 0;  // of its last change
};

class BudgetBooks {
 public:
  // Throws Error(kDataLoss) for a record that does not fit what was before:
  // then nothing may be decided on it.
  void apply(const LedgerRecord& record);

  const BudgetRules& rules() const { return rules_; }
  const std::map<std::string, KeptBlock>& blocks() const { return blocks_; }
  const std::map<std::string, KeptClaim>& claims() const { return claims_; }
  // Claims that wait, in the order in which they came.
  std::vector<const KeptClaim*> waiting() const;
  std::int64_t last_pass() const { return last_pass_; }

  // The share of a block that is unlocked at a time.
  double unlocked_share(const KeptBlock& block, std::int64_t now) const;
  // The epsilon that `consumed` comes to at the block's delta, as its capacity
  // counts: it is granted as long as this is within the promise. (Conversions
  // that are tighter, as privacy::epsilon_of(), say less.)
  static double epsilon_of(const KeptBlock& block,
                           const privacy::RenyiCurve& consumed);
  static double consumed_epsilon(const KeptBlock& block) {
    return epsilon_of(block, block.consumed);
  }

 private:
  KeptClaim& standing(const std::string& claim, ClaimStanding due);
  void apply_claim(const LedgerRecord& record);
  void take(const KeptClaim& claim, std::int64_t now);
  void give_back(const KeptClaim& claim);

  BudgetRules rules_;
  std::map<std::string, KeptBlock> blocks_;
  std::map<std::string, KeptClaim> claims_;
  std::vector<std::string> order_;  // of claims
  std::int64_t last_pass_ = 0;
};

}  // namespace weft
