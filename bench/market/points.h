// Examples to be valued, of a data set's two parts.
#pragma once

#include <numeric>
#include <string>
#include <vector>

#include "weft/data/fetch.h"
#include "weft/market/points.h"

namespace weft::market_bench {

struct TwoParts {
  market::Points train;
  market::Points test;
};

inline TwoParts two_parts(const std::string& data, const std::string& folder,
                          std::int64_t train, std::int64_t test) {
  const DatasetSplits splits = open_data({.name = data, .folder = folder});
  const auto first = [](const Dataset& set, std::int64_t count) {
    std::vector<std::int64_t> rows(
        static_cast<std::size_t>(std::min(count, set.size())));
    std::iota(rows.begin(), rows.end(), std::int64_t{0});
    return market::points_of(set, rows);
  };
  return {first(*splits.train, train), first(*splits.test, test)};
}

}  // namespace weft::market_bench
