#include "weft/budget/budget_page.h"

#include <algorithm>
#include <fmt/core.h>

#include "weft/base/markup.h"
#include "weft/budget/date_text.h"

namespace weft {
namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --line: #8884; --free: #8882; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem; vertical-align: top;
  border-bottom: 1px solid var(--line); }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.bar { display: flex; height: 1.1rem; width: 22rem; max-width: 40vw;
  background: var(--free); border-radius: 3px; overflow: hidden; }
.refused { color: #c0392b; } .granted, .begun { color: #1e8449; }
@media (prefers-color-scheme: dark) {
  .refused { color: #ff8a7a; } .granted, .begun { color: #6fdc9a; } }
code { font-size: .85em; overflow-wrap: anywhere; }
)";

// They are told apart also by those who see fewer colours (Wong,
// "Points of view: Color blindness", 2011).
constexpr const char* kColours[] = {"#0072B2", "#E69F00", "#009E73", "#CC79A7",
                                    "#56B4E9", "#D55E00", "#8a8a2a"};

bool holds_budget(const KeptClaim& claim) {
  return claim.standing == ClaimStanding::kGranted ||
         claim.standing == ClaimStanding::kBegun;
}

// How much of a block each claim has: at the order at which the block has most
// left, where shares add up.
std::string bar_of(const BudgetBooks& books, const std::string& name,
                   const KeptBlock& block) {
  std::size_t best = 0;
  double left = -1;
  for (std::size_t i = 0; i < block.capacity.size(); ++i) {
    if (block.capacity[i] <= 0) continue;
    const double share = 1 - block.consumed[i] / block.capacity[i];
    if (share > left) {
      left = share;
      best = i;
    }
  }
  std::string parts;
  std::size_t colour = 0;
  for (const auto& [claim_name, claim] : books.claims()) {
    if (!holds_budget(claim) ||
        std::ranges::count(claim.entry.blocks, name) == 0) {
      continue;
    }
    const double share = 100 * claim.demand[best] / block.capacity[best];
    parts += fmt::format(
        "<span style=\"width:{:.2f}%;background:{}\" title=\"{}: {:.1f} %\">"
        "</span>",
        share, kColours[colour++ % std::size(kColours)],
        markup_text(claim.entry.job.empty() ? claim_name : claim.entry.job),
        share);
  }
  return fmt::format("<div class=\"bar\">{}</div>", parts);
}

std::string block_rows(const BudgetBooks& books, std::int64_t now) {
  std::string rows;
  for (const auto& [name, block] : books.blocks()) {
    rows += fmt::format(
        "<tr><td>{}</td><td class=\"number\">{:.3f}</td>"
        "<td class=\"number\">{:g}</td><td class=\"number\">{:g}</td>"
        "<td>{}</td><td>{}</td></tr>\n",
        markup_text(name), BudgetBooks::consumed_epsilon(block),
        block.guarantee.epsilon, block.guarantee.delta,
        bar_of(books, name, block), markup_text(block.retirement_text(now)));
  }
  return rows;
}

std::string claim_rows(const BudgetBooks& books) {
  std::vector<const KeptClaim*> claims;
  for (const auto& [name, claim] : books.claims()) claims.push_back(&claim);
  std::ranges::stable_sort(claims, std::greater(),
                           [](const KeptClaim* claim) { return claim->until; });
  std::string rows;
  for (const KeptClaim* claim : claims) {
    const std::string standing(to_string(claim->standing));
    rows += fmt::format(
        "<tr><td>{}</td><td>{}</td><td class=\"{}\">{}{}{}</td>"
        "<td class=\"number\">{}</td><td><code>{}</code></td></tr>\n",
        date_text(claim->until),
        markup_text(claim->entry.job.empty() ? claim->entry.claim
                                             : claim->entry.job),
        standing, standing, claim->because.empty() ? "" : ": ",
        markup_text(claim->because), claim->entry.blocks.size(),
        markup_text(claim->entry.mechanism));
  }
  return rows;
}

}  // namespace

std::string budget_page(const BudgetBooks& books, const std::string& title,
                        std::int64_t now) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n"
      "<title>Privacy budgets: {0}</title><style>{1}</style></head><body>\n"
      "<h1>Privacy budgets: {0}</h1>\n"
      "<p>Granted by <code>{2}</code>, unlocked by <code>{3}</code>. A bar "
      "shows "
      "what each job has taken of a block; what is empty is left.</p>\n"
      "<h2>Blocks</h2>\n<table><tr><th>block</th><th "
      "class=\"number\">spent</th>"
      "<th class=\"number\">of epsilon</th><th class=\"number\">delta</th>"
      "<th>taken</th><th>given</th></tr>\n{4}</table>\n"
      "<h2>Claims, newest first</h2>\n<table><tr><th>when</th><th>job</th>"
      "<th>standing</th><th "
      "class=\"number\">blocks</th><th>mechanism</th></tr>\n"
      "{5}</table>\n</body></html>\n",
      markup_text(title), kStyle, markup_text(books.rules().scheduler),
      markup_text(books.rules().unlocking), block_rows(books, now),
      claim_rows(books));
}

}  // namespace weft
