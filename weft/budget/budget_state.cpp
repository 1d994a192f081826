#include "weft/budget/budget_state.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/base/error.h"
#include "weft/budget/date_text.h"
#include "weft/privacy/mechanism.h"
#include "weft/privacy/unlocking.h"

namespace weft {
namespace {

using privacy::budget_orders;
using privacy::RenyiCurve;

Error does_not_fit(const LedgerRecord& record, std::string_view what) {
  return Error(ErrorCode::kDataLoss, "budget", "record {}, a {}, {}",
               record.sequence, record.kind, what);
}

}  // namespace

std::string_view to_string(ClaimStanding standing) {
  switch (standing) {
    case ClaimStanding::kWaiting:
      return "waiting";
    case ClaimStanding::kGranted:
      return "granted";
    case ClaimStanding::kBegun:
      return "begun";
    case ClaimStanding::kRefused:
      return "refused";
    case ClaimStanding::kReleased:
      return "released";
  }
  WEFT_CHECK(false, "an unknown standing");
}

std::optional<std::string> KeptBlock::gone(std::int64_t now) const {
  if (!retired.empty()) return "it was retired: " + retired;
  if (retirement.at > 0 && now >= retirement.at) {
    return fmt::format("it retired on {}", date_text(retirement.at));
  }
  if (retirement.grants > 0 && grants >= retirement.grants) {
    return fmt::format("it retired after {} grant{}", retirement.grants,
                       retirement.grants == 1 ? "" : "s");
  }
  return std::nullopt;
}

std::string KeptBlock::retirement_text(std::int64_t now) const {
  if (auto why = gone(now)) return *std::move(why);
  std::string text;
  if (retirement.at > 0) text = "until " + date_text(retirement.at);
  if (retirement.grants > 0) {
    text += fmt::format("{}for {} grant{}, {} so far", text.empty() ? "" : ", ",
                        retirement.grants, retirement.grants == 1 ? "" : "s",
                        grants);
  }
  return text;
}

void BudgetBooks::apply(const LedgerRecord& record) {
  try {
    if (record.kind == "rules") {
      rules_ = rules_from(record.body);
    } else if (record.kind == "block") {
      const BlockEntry entry = block_from(record.body);
      const bool is_new =
          blocks_
              .try_emplace(
                  entry.block,
                  KeptBlock{entry.guarantee,
                            privacy::capacity(entry.guarantee, budget_orders()),
                            RenyiCurve(budget_orders()), record.time, 0, 0,
                            entry.retirement})
              .second;
      if (!is_new) throw does_not_fit(record, "names one that is there");
    } else if (record.kind == "retire") {
      const RetireEntry entry = retire_from(record.body);
      const auto block = blocks_.find(entry.block);
      if (block == blocks_.end()) {
        throw does_not_fit(record, "names a block that is not there");
      }
      block->second.retired = entry.because;
    } else if (record.kind == "claim") {
      apply_claim(record);
    } else if (record.kind == "grant") {
      KeptClaim& claim =
          standing(verdict_from(record.body).claim, ClaimStanding::kWaiting);
      take(claim, record.time);
      claim.standing = ClaimStanding::kGranted;
      claim.until = record.time;
    } else if (record.kind == "refusal") {
      const VerdictEntry verdict = verdict_from(record.body);
      KeptClaim& claim = standing(verdict.claim, ClaimStanding::kWaiting);
      claim.standing = ClaimStanding::kRefused;
      claim.because = verdict.because;
      claim.until = record.time;
    } else if (record.kind == "begin") {
      KeptClaim& claim =
          standing(verdict_from(record.body).claim, ClaimStanding::kGranted);
      claim.standing = ClaimStanding::kBegun;
      claim.until = record.time;
    } else if (record.kind == "release") {
      // What has begun is spent, whatever comes of it.
      KeptClaim& claim =
          standing(verdict_from(record.body).claim, ClaimStanding::kGranted);
      claim.standing = ClaimStanding::kReleased;
      give_back(claim);
      claim.until = record.time;
    } else if (record.kind == "pass") {
      last_pass_ = record.time;
    } else {
      throw does_not_fit(record, "is of no kind that this book knows");
    }
  } catch (const Error& error) {
    // Records were checked before they were written: one that makes no sense
    // now is damaged, whatever is wrong with it.
    if (error.code() == ErrorCode::kDataLoss) throw;
    throw does_not_fit(record, error.message());
  }
}

void BudgetBooks::apply_claim(const LedgerRecord& record) {
  ClaimEntry entry = claim_from(record.body);
  const auto demand = privacy::renyi_curve(
      privacy::parse_mechanisms(entry.mechanism), budget_orders());
  for (const std::string& name : entry.blocks) {
    const auto block = blocks_.find(name);
    if (block == blocks_.end()) {
      throw does_not_fit(record, "asks of a block that is not there");
    }
    ++block->second.claims;
  }
  const std::string name = entry.claim;
  const bool is_new =
      claims_
          .try_emplace(
              name, KeptClaim{std::move(entry), demand, ClaimStanding::kWaiting,
                              "", record.time, record.time})
          .second;
  if (!is_new) throw does_not_fit(record, "is there already");
  order_.push_back(name);
}

KeptClaim& BudgetBooks::standing(const std::string& name, ClaimStanding due) {
  const auto found = claims_.find(name);
  if (found == claims_.end() || found->second.standing != due) {
    throw Error(ErrorCode::kDataLoss, "budget",
                "the claim '{}' is not {}, as a record has it", name,
                to_string(due));
  }
  return found->second;
}

void BudgetBooks::take(const KeptClaim& claim, std::int64_t now) {
  for (const std::string& name : claim.entry.blocks) {
    KeptBlock& block = blocks_.at(name);
    if (const auto why = block.gone(now)) {
      throw Error(ErrorCode::kDataLoss, "budget", "'{}' was granted, and {}",
                  claim.entry.claim, *why);
    }
    // The promise itself: whatever a scheduler has said, no block is overdrawn.
    if (!privacy::fits(claim.demand.values(), block.consumed.values(),
                       block.capacity.values())) {
      throw Error(ErrorCode::kDataLoss, "budget",
                  "the block '{}' is overdrawn by '{}'", name,
                  claim.entry.claim);
    }
    block.consumed += claim.demand;
    ++block.grants;
  }
}

// What others have consumed is added up again: a difference of sums may be less
// than they are.
void BudgetBooks::give_back(const KeptClaim& claim) {
  for (const std::string& name : claim.entry.blocks) {
    KeptBlock& block = blocks_.at(name);
    block.consumed = RenyiCurve(budget_orders());
    --block.grants;
    for (const std::string& each : order_) {
      const KeptClaim& other = claims_.at(each);
      const bool has_budget = other.standing == ClaimStanding::kGranted ||
                              other.standing == ClaimStanding::kBegun;
      if (has_budget && std::ranges::count(other.entry.blocks, name) > 0) {
        block.consumed += other.demand;
      }
    }
  }
}

std::vector<const KeptClaim*> BudgetBooks::waiting() const {
  std::vector<const KeptClaim*> found;
  for (const std::string& name : order_) {
    const KeptClaim& claim = claims_.at(name);
    if (claim.standing == ClaimStanding::kWaiting) found.push_back(&claim);
  }
  return found;
}

double BudgetBooks::unlocked_share(const KeptBlock& block,
                                   std::int64_t now) const {
  return privacy::parse_unlocking(rules_.unlocking)
      .share({.time = static_cast<double>(now - block.since) * 1e-6,
              .claims = block.claims});
}

double BudgetBooks::epsilon_of(const KeptBlock& block,
                               const RenyiCurve& consumed) {
  double least = std::numeric_limits<double>::infinity();
  bool is_untouched = true;
  for (std::size_t i = 0; i < consumed.size(); ++i) {
    is_untouched &= consumed[i] == 0;
    least = std::min(least, consumed[i] - std::log(block.guarantee.delta) /
                                              (consumed.orders()[i] - 1));
  }
  return is_untouched ? 0 : least;
}

}  // namespace weft
