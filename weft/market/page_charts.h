// Charts of a market's page, as SVG.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/market/page.h"

namespace weft::market {

// "1,437".
std::string thousands(Amount amount);

// Where the money is, block by block: areas on top of each other.
std::string money_chart(const std::vector<MoneyPoint>& history);

// A bar of parts, with a name in front and a number behind.
struct BarPart {
  Amount amount = 0;
  std::size_t colour = 0;
};
struct Bar {
  std::string name;
  std::vector<BarPart> parts;
};
// All on one scale; `legend` names colours.
std::string bar_chart(const std::vector<Bar>& bars,
                      const std::vector<std::string>& legend);

}  // namespace weft::market
