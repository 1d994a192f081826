// A market as a page by itself: where its money is and where it went, databases
// and who owns them, jobs and workers.
//
// Threads: pure.
#pragma once

#include <string>
#include <vector>

#include "weft/market/state.h"

namespace weft::market {

// Where the money was behind a block: a point of the chart.
struct MoneyPoint {
  std::int64_t height = 0;
  Amount accounts = 0;
  Amount escrow = 0;     // of jobs
  Amount stakes = 0;     // of workers
  Amount dividends = 0;  // of associations: not withdrawn, and treasuries
};
MoneyPoint money_point(const State& state);

// HTML without scripts, that asks no other server for anything. All texts of
// the market are escaped.
std::string market_page(const State& state,
                        const std::vector<MoneyPoint>& history);

}  // namespace weft::market
