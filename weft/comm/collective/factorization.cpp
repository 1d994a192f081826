#include "weft/comm/collective/factorization.h"

#include <fmt/ranges.h>

#include "weft/base/error.h"

namespace weft {

namespace {

// The largest topology that can be written has as many (topology.cpp).
constexpr std::int64_t kMostRanks = std::int64_t{1} << 20;

Error mistake(std::span<const std::int64_t> factors, std::string_view what) {
  return Error(ErrorCode::kInvalidArgument, "blueconnect",
               "the factors [{}] {}", fmt::join(factors, ", "), what)
      .hint(
          "give the sizes of the groups, innermost first, whose product is the "
          "number of ranks: [4, 8] for 32");
}

}  // namespace

Factors factors_of(std::span<const std::int64_t> sizes) {
  Factors factors;
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) {
    if (size < 1) throw mistake(sizes, "are not all positive");
    // It is asked at each factor, before the product can overflow.
    if (size > kMostRanks || product * size > kMostRanks) {
      throw mistake(sizes, "are of too many ranks");
    }
    product *= size;
    // Groups of one do nothing, and would be a stage all the same.
    if (size > 1) factors.push_back(static_cast<int>(size));
  }
  return factors;
}

Factors factors_of(std::span<const std::int64_t> sizes, int ranks) {
  Factors factors = factors_of(sizes);
  int product = 1;
  for (const int factor : factors) product *= factor;
  if (product != ranks) {
    throw mistake(
        sizes, fmt::format("multiply to {}, not to {} ranks", product, ranks));
  }
  return factors;
}

std::string to_string(const Factors& factors) {
  return fmt::format("[{}]", fmt::join(factors, ", "));
}

// The order matters: the first factor's stage carries the largest messages.
std::vector<Factors> ordered_factorizations(int ranks) {
  // One rank needs no stage, and this ends the recursion.
  if (ranks == 1) return {{}};
  std::vector<Factors> result;
  for (int first = 2; first <= ranks; ++first) {
    if (ranks % first != 0) continue;
    for (const Factors& rest : ordered_factorizations(ranks / first)) {
      Factors factors = {first};
      factors.insert(factors.end(), rest.begin(), rest.end());
      result.push_back(std::move(factors));
    }
  }
  return result;
}

std::vector<Factors> compatible_factorizations(const Topology& topology) {
  std::vector<Factors> result = {{}};
  for (const Level& level : topology.levels) {
    std::vector<Factors> longer;
    for (const Factors& inner : result) {
      // Levels are factored one by one, so that no group crosses the border of
      // a unit.
      for (const Factors& outer : ordered_factorizations(level.size)) {
        longer.push_back(inner);
        longer.back().insert(longer.back().end(), outer.begin(), outer.end());
      }
    }
    result = std::move(longer);
  }
  return result;
}

}  // namespace weft
