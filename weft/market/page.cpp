#include "weft/market/page.h"

#include <algorithm>
#include <fmt/chrono.h>

#include "weft/base/markup.h"
#include "weft/market/page_charts.h"
#include "weft/market/settlement.h"

namespace weft::market {
namespace {

constexpr std::size_t kShownJobs = 24;

constexpr std::string_view kStyle = R"(
:root{color-scheme:light dark;--ink:#1c2128;--dim:#667080;--line:#d8dee6;
--paper:#fff}
@media(prefers-color-scheme:dark){:root{--ink:#e4e8ee;--dim:#98a2b0;
--line:#343b45;--paper:#16191e}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);
background:var(--paper);max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{margin-bottom:0}h2{margin:2.2rem 0 .6rem;font-size:1.15rem}
.dim{color:var(--dim)}code{font-size:.85em}
.tiles{display:flex;flex-wrap:wrap;gap:1rem;margin:1.2rem 0}
.tiles div{border:1px solid var(--line);border-radius:.5rem;
padding:.5rem 1rem;min-width:7rem}
.tiles b{display:block;font-size:1.4rem}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.25rem .6rem;
border-bottom:1px solid var(--line)}
th{font-weight:600;color:var(--dim)}td.n,th.n{text-align:right}
svg{width:100%;height:auto}svg text{font-size:12px;fill:var(--ink)}
.grid{stroke:var(--line)}
.legend span{margin-right:1.2rem;white-space:nowrap}
.legend i{display:inline-block;width:.8rem;height:.8rem;border-radius:.15rem;
margin-right:.4rem;vertical-align:-.1rem}
)";

// A cell of a number stands at the right.
struct Cell {
  std::string html;
  bool is_number = false;

  Cell(const std::string& text) : html(markup_text(text)) {}
  Cell(const char* text) : html(markup_text(text)) {}
  Cell(Amount amount) : html(thousands(amount)), is_number(true) {}
};

// The head says of each column whether it is of numbers, as its cells are.
std::string table_of(const std::vector<std::string>& head,
                     const std::vector<std::vector<Cell>>& rows) {
  if (rows.empty()) return "<p class=\"dim\">none</p>";
  std::string html = "<table><tr>";
  for (std::size_t i = 0; i < head.size(); ++i) {
    html += fmt::format("<th{}>{}</th>",
                        rows[0][i].is_number ? " class=\"n\"" : "", head[i]);
  }
  html += "</tr>";
  for (const auto& row : rows) {
    html += "<tr>";
    for (const Cell& cell : row) {
      html += fmt::format("<td{}>{}</td>", cell.is_number ? " class=\"n\"" : "",
                          cell.html);
    }
    html += "</tr>";
  }
  return html + "</table>";
}

std::string heading(const State& state) {
  const std::time_t time = state.time;
  std::tm utc{};
  gmtime_r(&time, &utc);
  std::string html = fmt::format(
      "<h1>{}</h1><p class=\"dim\">block {} at {:%Y-%m-%d %H:%M:%S} UTC, root "
      "<code>{}</code></p><div class=\"tiles\">",
      markup_text(state.genesis.name), state.height, utc, to_hex(state.root));
  const std::vector<std::pair<const char*, Amount>> tiles{
      {"money", state.money},
      {"accounts", std::ssize(state.accounts)},
      {"databases", std::ssize(state.databases)},
      {"shards", std::ssize(state.shards)},
      {"jobs", std::ssize(state.jobs)},
      {"workers", std::ssize(state.workers)}};
  for (const auto& [name, number] : tiles) {
    html += fmt::format("<div><b>{}</b>{}</div>", thousands(number), name);
  }
  return html + "</div>";
}

// Where the gas of a job went, or is.
Bar bar_of(const State& state, const Job& job, std::size_t number) {
  Bar bar{.name = fmt::format("job {}: {}", number, job.task), .parts = {}};
  Amount hardware = 0;
  Amount data = 0;
  Amount platform = 0;
  if (job.result) {
    std::vector<Amount> prices;
    for (const Assignment& one : job.assignments) {
      if (one.state == AssignmentState::kReported) prices.push_back(one.price);
    }
    const Cost cost =
        cost_of(state, job, job.result->reads, job.result->values, prices);
    hardware = cost.hardware;
    if (job.state == JobState::kPaid) {
      data = cost.of_data();
      platform = cost.platform;
    }
  }
  const Amount back = job.gas - hardware - data - platform - job.escrow;
  bar.parts = {
      {data, 0}, {hardware, 1}, {platform, 2}, {job.escrow, 3}, {back, 4}};
  return bar;
}

std::string jobs_part(const State& state) {
  std::vector<Bar> bars;
  std::vector<std::vector<Cell>> rows;
  const std::size_t first =
      state.jobs.size() > kShownJobs ? state.jobs.size() - kShownJobs : 0;
  for (std::size_t i = first; i < state.jobs.size(); ++i) {
    const Job& job = state.jobs[i];
    bars.push_back(bar_of(state, job, i + 1));
    Amount reads = 0;
    if (job.result) {
      for (const Amount count : job.result->reads) reads += count;
    }
    rows.push_back({static_cast<Amount>(i + 1), job.task, short_name(job.payer),
                    std::string(to_string(job.state)), job.outcome,
                    std::ssize(job.shards), reads, job.gas});
  }
  std::string html = "<h2>Jobs: where the money went</h2>";
  if (!bars.empty()) {
    html += bar_chart(
        bars, {"data", "workers", "platform", "escrow", "back to the payer"});
  }
  return html + table_of({"job", "task", "payer", "state", "outcome", "shards",
                          "reads", "gas"},
                         rows);
}

std::string association_part(const State& state, std::size_t index) {
  const Association& association = state.associations[index];
  Association settled = association;
  settled.settle();
  std::string html = fmt::format(
      "<h2>{}</h2><p class=\"dim\">association {}: quorum {}, {} shares, "
      "treasury {}{}</p>",
      markup_text(association.name), index + 1, association.rules.quorum,
      thousands(association.current().supply), thousands(association.treasury),
      association.is_started ? ""
                             : "; shares are symbolic until its first "
                               "shard");
  std::vector<Bar> holders;
  for (const auto& [key, shares] : association.current().shares) {
    holders.push_back({short_name(key), {{shares, 0}}});
  }
  std::sort(holders.begin(), holders.end(), [](const Bar& a, const Bar& b) {
    return a.parts[0].amount > b.parts[0].amount;
  });
  html += "<p>Shares</p>" + bar_chart(holders, {});
  if (!settled.owed.empty()) {
    std::vector<Bar> owed;
    for (const auto& [key, amount] : settled.owed) {
      owed.push_back({short_name(key), {{amount, 2}}});
    }
    html += "<p>Dividends that wait to be withdrawn</p>" + bar_chart(owed, {});
  }
  std::vector<std::vector<Cell>> rows;
  for (std::size_t i = 0; i < state.databases.size(); ++i) {
    const Database& database = state.databases[i];
    if (database.association != static_cast<std::int64_t>(index + 1)) continue;
    Amount examples = 0;
    for (const std::int64_t shard : database.shards) {
      examples += entry(state.shards, shard, "shard").examples;
    }
    rows.push_back(
        {database.name, std::ssize(database.shards), examples, database.price});
  }
  return html +
         table_of({"database", "shards", "examples", "price of 1,000 reads"},
                  rows);
}

std::string workers_part(const State& state) {
  std::vector<std::vector<Cell>> rows;
  for (const auto& [key, worker] : state.workers) {
    rows.push_back({short_name(key), worker.price, worker.stake,
                    worker.reputation,
                    worker.job == 0 ? std::string("-")
                                    : fmt::format("job {}", worker.job)});
  }
  return "<h2>Workers</h2>" +
         table_of({"worker", "price", "stake", "reputation", "runs"}, rows);
}

std::string accounts_part(const State& state) {
  std::vector<std::vector<Cell>> rows;
  for (const auto& [key, account] : state.accounts) {
    rows.push_back({short_name(key), account.balance, account.nonce});
  }
  return "<h2>Accounts</h2>" +
         table_of({"account", "balance", "transactions"}, rows);
}

}  // namespace

MoneyPoint money_point(const State& state) {
  MoneyPoint point{.height = state.height};
  for (const auto& [key, account] : state.accounts) {
    point.accounts += account.balance;
  }
  for (const Job& job : state.jobs) point.escrow += job.escrow;
  for (const auto& [key, worker] : state.workers) point.stakes += worker.stake;
  for (const Association& association : state.associations) {
    point.dividends += association.money();
  }
  return point;
}

std::string market_page(const State& state,
                        const std::vector<MoneyPoint>& history) {
  std::string html = fmt::format(
      "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta "
      "name=\"viewport\" content=\"width=device-width\"><title>{}</title>"
      "<style>{}</style>",
      markup_text(state.genesis.name), kStyle);
  html += heading(state);
  if (!history.empty()) {
    html += "<h2>Where the money is</h2>" + money_chart(history);
  }
  html += jobs_part(state);
  for (std::size_t i = 0; i < state.associations.size(); ++i) {
    html += association_part(state, i);
  }
  return html + workers_part(state) + accounts_part(state) + "</html>\n";
}

}  // namespace weft::market
