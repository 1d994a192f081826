#include "weft/budget/budget_ledger.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include "weft/base/error.h"
#include "weft/base/wildcard.h"
#include "weft/privacy/mechanism.h"
#include "weft/privacy/scheduler.h"
#include "weft/privacy/unlocking.h"

namespace weft {
namespace {

using Writer = BookWriter<BudgetBooks>;

constexpr int kMostPauseMilliseconds = 1000;

Error bad_claim(const std::string& claim, std::string_view what) {
  return Error(ErrorCode::kInvalidArgument, "budget", "the claim '{}' {}",
               claim, what);
}

const KeptClaim& claim_of(const BudgetBooks& books, const std::string& name) {
  const auto found = books.claims().find(name);
  if (found == books.claims().end()) throw bad_claim(name, "is not there");
  return found->second;
}

// Whether a claim that is asked for again is the one that is there.
void check_same(const ClaimEntry& earlier, const ClaimEntry& again) {
  constexpr const char* kHint = "another job needs a claim of its own";
  if (earlier.mechanism != again.mechanism) {
    throw bad_claim(again.claim,
                    fmt::format("is there, and is for {}: it cannot become one "
                                "for {}",
                                earlier.mechanism, again.mechanism))
        .hint(kHint);
  }
  for (const std::string& block : again.blocks) {
    if (std::ranges::binary_search(earlier.blocks, block)) continue;
    throw bad_claim(again.claim,
                    fmt::format("is there, and cannot become one for block "
                                "'{}', which it has not asked of",
                                block))
        .hint(kHint);
  }
}

// The blocks that patterns name, each once.
std::vector<std::string> blocks_by(const BudgetBooks& books,
                                   const std::vector<std::string>& patterns) {
  std::set<std::string> names;
  for (const std::string& pattern : patterns) {
    bool is_found = false;
    for (const auto& [name, block] : books.blocks()) {
      if (!matches_wildcard(pattern, name)) continue;
      names.insert(name);
      is_found = true;
    }
    if (!is_found) {
      throw Error(ErrorCode::kInvalidArgument, "budget",
                  "no block is called '{}'", pattern)
          .hint("weft budget show lists them, and weft budget add makes one");
    }
  }
  if (names.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "budget",
                "a claim asks of one block at least");
  }
  return {names.begin(), names.end()};
}

// Why a claim can never be granted, whatever is unlocked later.
std::optional<std::string> hopeless(const BudgetBooks& books,
                                    const KeptClaim& claim, std::int64_t now) {
  for (const std::string& name : claim.entry.blocks) {
    const KeptBlock& block = books.blocks().at(name);
    if (const auto why = block.gone(now)) {
      return fmt::format("nothing is granted of block '{}' any more: {}", name,
                         *why);
    }
    if (privacy::fits(claim.demand.values(), block.consumed.values(),
                      block.capacity.values())) {
      continue;
    }
    const double after =
        BudgetBooks::epsilon_of(block, block.consumed + claim.demand);
    return fmt::format(
        "block '{}' would come to epsilon {:.4g}, where {:g} is promised at "
        "delta {:g}, and {:.4g} is spent",
        name, after, block.guarantee.epsilon, block.guarantee.delta,
        BudgetBooks::consumed_epsilon(block));
  }
  return std::nullopt;
}

privacy::BudgetProblem problem_of(const BudgetBooks& books,
                                  const std::vector<const KeptClaim*>& waiting,
                                  std::int64_t now) {
  privacy::BudgetProblem problem;
  std::map<std::string, std::size_t> numbers;
  for (const auto& [name, block] : books.blocks()) {
    numbers.emplace(name, problem.blocks.size());
    problem.blocks.push_back({block.capacity,
                              books.unlocked_share(block, now) * block.capacity,
                              block.consumed});
  }
  for (const KeptClaim* claim : waiting) {
    privacy::BudgetClaim& asked = problem.claims.emplace_back();
    asked.weight = claim->entry.weight;
    for (const std::string& name : claim->entry.blocks) {
      asked.demands.push_back({numbers.at(name), claim->demand});
    }
  }
  return problem;
}

// This machine's clock counts, and how far it is from the last pass to either
// side: where it was set back, time stands still in the ledger, and would put
// passes off until the clock has caught up.
bool is_due(const BudgetBooks& books) {
  return std::abs(static_cast<double>(ledger_clock() - books.last_pass())) *
             1e-6 >=
         books.rules().period;
}

// Refuses what cannot be, and grants what the scheduler chooses of the rest.
void deal_out(Writer& writer) {
  const BudgetBooks& books = writer.state();
  if (books.waiting().empty()) return;
  const auto refuse = [&] {
    // Names are kept, as what is written changes what is pointed to.
    std::vector<VerdictEntry> verdicts;
    for (const KeptClaim* claim : books.waiting()) {
      if (auto why = hopeless(books, *claim, writer.now())) {
        verdicts.push_back({claim->entry.claim, *std::move(why)});
      }
    }
    for (const VerdictEntry& verdict : verdicts) {
      writer.append("refusal", body_of(verdict));
    }
  };
  refuse();
  if (!is_due(books)) return;
  const auto waiting = books.waiting();
  const auto granted =
      privacy::schedule(privacy::parse_scheduler(books.rules().scheduler),
                        problem_of(books, waiting, writer.now()));
  std::vector<std::string> names;
  for (const std::size_t i : granted) names.push_back(waiting[i]->entry.claim);
  for (const std::string& name : names) {
    // The one before may have been the last that its blocks give something.
    if (hopeless(books, claim_of(books, name), writer.now())) continue;
    writer.append("grant", body_of(VerdictEntry{name, ""}));
  }
  // What these took may be what others needed.
  refuse();
  if (books.rules().period > 0) writer.append("pass", "{}");
}

}  // namespace

void BudgetLedger::set_rules(const BudgetRules& rules) {
  privacy::parse_scheduler(rules.scheduler);
  privacy::parse_unlocking(rules.unlocking);
  if (!(rules.period >= 0) || !std::isfinite(rules.period)) {
    throw Error(ErrorCode::kInvalidArgument, "budget", "a period of {} seconds",
                rules.period);
  }
  book_.transact([&](Writer& writer) {
    if (writer.state().rules() == rules) return;
    writer.append("rules", body_of(rules));
  });
}

void BudgetLedger::add_block(const std::string& block,
                             const privacy::Guarantee& guarantee,
                             const Retirement& retirement) {
  privacy::capacity(guarantee, privacy::budget_orders());
  if (block.empty() || block.find_first_of("*,") != std::string::npos) {
    throw Error(ErrorCode::kInvalidArgument, "budget",
                "'{}' is no name of a block", block)
        .hint("names are found by patterns: no '*' and no ','");
  }
  book_.transact([&](Writer& writer) {
    if (writer.state().blocks().contains(block)) {
      throw Error(ErrorCode::kInvalidArgument, "budget",
                  "the block '{}' is there, and its budget is given once",
                  block);
    }
    if (retirement.at < 0 || retirement.grants < 0 ||
        (retirement.at > 0 && retirement.at <= writer.now())) {
      throw Error(ErrorCode::kInvalidArgument, "budget",
                  "the block '{}' would be retired before it is there", block);
    }
    writer.append("block", body_of(BlockEntry{block, guarantee, retirement}));
  });
}

void BudgetLedger::retire(const std::string& block,
                          const std::string& because) {
  if (because.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "budget",
                "why '{}' is retired is not said", block)
        .hint("those whose claims wait for it are told");
  }
  book_.transact([&](Writer& writer) {
    const auto found = writer.state().blocks().find(block);
    if (found == writer.state().blocks().end()) {
      throw Error(ErrorCode::kInvalidArgument, "budget",
                  "no block is called '{}'", block)
          .hint("weft budget show lists them");
    }
    if (const auto why = found->second.gone(writer.now())) {
      throw Error(ErrorCode::kInvalidArgument, "budget",
                  "of block '{}' nothing is granted any more: {}", block, *why);
    }
    writer.append("retire", body_of(RetireEntry{block, because}));
    deal_out(writer);
  });
}

KeptClaim BudgetLedger::ask(ClaimEntry claim) {
  if (claim.claim.empty()) throw bad_claim("", "has no name");
  if (!(claim.weight > 0) || !std::isfinite(claim.weight)) {
    throw bad_claim(claim.claim,
                    fmt::format("has a weight of {}", claim.weight));
  }
  claim.mechanism =
      privacy::to_string(privacy::parse_mechanisms(claim.mechanism));
  return book_.transact([&](Writer& writer) {
    const auto& claims = writer.state().claims();
    ClaimEntry entry = claim;
    entry.blocks = blocks_by(writer.state(), claim.blocks);
    if (const auto there = claims.find(claim.claim); there != claims.end()) {
      check_same(there->second.entry, entry);
    } else {
      writer.append("claim", body_of(entry), claim.claim);
    }
    deal_out(writer);
    return claim_of(writer.state(), claim.claim);
  });
}

KeptClaim BudgetLedger::wait(const std::string& claim, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    const bool is_late = Clock::now() >= end;
    const KeptClaim kept = book_.transact([&](Writer& writer) {
      deal_out(writer);
      const KeptClaim now = claim_of(writer.state(), claim);
      if (now.standing == ClaimStanding::kWaiting && is_late) {
        writer.append(
            "refusal",
            body_of(VerdictEntry{
                claim, fmt::format("nobody waited any longer than {:g} seconds "
                                   "for what is not unlocked yet",
                                   seconds)}));
      }
      return claim_of(writer.state(), claim);
    });
    if (kept.standing != ClaimStanding::kWaiting) return kept;
    book_.ledger().wait(book_.head().sequence, kMostPauseMilliseconds);
  }
}

void BudgetLedger::begin(const std::string& claim) {
  book_.transact([&](Writer& writer) {
    const KeptClaim& kept = claim_of(writer.state(), claim);
    if (kept.standing == ClaimStanding::kBegun) return;
    if (kept.standing != ClaimStanding::kGranted) {
      throw bad_claim(claim, fmt::format("is {}, and gives no budget",
                                         to_string(kept.standing)));
    }
    writer.append("begin", body_of(VerdictEntry{claim, ""}));
  });
}

void BudgetLedger::release(const std::string& claim) {
  book_.transact([&](Writer& writer) {
    const KeptClaim& kept = claim_of(writer.state(), claim);
    if (kept.standing != ClaimStanding::kGranted) {
      throw bad_claim(claim,
                      fmt::format("is {}: {}", to_string(kept.standing),
                                  kept.standing == ClaimStanding::kBegun
                                      ? "what was read stays spent"
                                      : "it holds nothing to be given back"));
    }
    writer.append("release", body_of(VerdictEntry{claim, ""}));
  });
}

}  // namespace weft
