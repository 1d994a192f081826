#include "weft/comm/collective/factorization.h"

#include <charconv>

#include "weft/base/error.h"

namespace weft {

namespace {

// The largest topology that can be written has as many (topology.cpp).
constexpr std::int64_t kMostRanks = std::int64_t{1} << 20;

Error mistake(std::string_view text, std::string_view what) {
  return Error(ErrorCode::kInvalidArgument, "blueconnect",
               "the factors '{}' {}", text, what)
      .hint(
          "give the sizes of the groups, innermost first, whose product is the "
          "number of ranks: 4,8 for 32");
}

}  // namespace

Factors parse_factors(std::string_view text) {
  Factors factors;
  std::int64_t product = 1;
  const char* place = text.data();
  const char* const end = text.data() + text.size();
  while (place != end) {
    int factor = 0;
    const auto [stop, error] = std::from_chars(place, end, factor);
    if (error != std::errc()) throw mistake(text, "are not numbers");
    if (factor < 1) throw mistake(text, "are not all positive");
    product *= factor;
    // It is asked at each factor, before the product can overflow.
    if (product > kMostRanks) throw mistake(text, "are of too many ranks");
    // Groups of one do nothing, and would be a stage all the same.
    if (factor > 1) factors.push_back(factor);
    place = stop;
    if (place == end) break;
    // A list that ends with a comma may have lost a factor.
    if (*place != ',' || ++place == end) throw mistake(text, "are not a list");
  }
  return factors;
}

Factors parse_factors(std::string_view text, int ranks) {
  Factors factors = parse_factors(text);
  int product = 1;
  for (const int factor : factors) product *= factor;
  if (product != ranks) {
    throw mistake(
        text, fmt::format("multiply to {}, not to {} ranks", product, ranks));
  }
  return factors;
}

std::string to_string(const Factors& factors) {
  std::string text;
  for (const int factor : factors) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", factor);
  }
  return text;
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
