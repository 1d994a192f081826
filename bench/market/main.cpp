// What bench/lib/ledgers_market.py measures of the market: one measurement for
// each word, told as JSON.
//
//   weft-market-bench transactions 20000
//   weft-market-bench shapley fashion-mnist DIR 10000
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/market/measure.h"

#include "weft/base/error.h"
#include "weft/base/parallel.h"

int main(int count, char** words) {
  using namespace weft::market_bench;
  const std::vector<std::string> arguments(words + 1, words + count);
  const auto word = [&](std::size_t i) {
    if (i >= arguments.size()) {
      throw weft::Error(weft::ErrorCode::kInvalidArgument, "arguments",
                        "there are too few");
    }
    return arguments[i];
  };
  try {
    nlohmann::ordered_json told;
    if (word(0) == "transactions") {
      weft::set_thread_count(1);  // the bar is of one core
      told = measure_transactions(std::stoll(word(1)));
    } else if (word(0) == "shapley") {
      weft::set_thread_count(1);
      told = measure_shapley(word(1), word(2), std::stoll(word(3)));
    } else if (word(0) == "values") {
      told = measure_values(word(1), word(2), std::stoll(word(3)));
    } else if (word(0) == "training") {
      told = measure_training(word(1), word(2), word(3), std::stoll(word(4)));
    } else {
      throw weft::Error(weft::ErrorCode::kInvalidArgument, "arguments",
                        "'{}' is no measurement", word(0));
    }
    std::printf("%s\n", told.dump().c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
