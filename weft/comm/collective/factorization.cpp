#include "weft/comm/collective/factorization.h"

#include <fmt/ranges.h>

#include "weft/base/error.h"

namespace weft {

std::optional<Refusal> factors_decline(std::span<const std::int64_t> sizes,
                                       int ranks) {
  // What is left of the ranks, as the product itself may overflow.
  std::int64_t rest = ranks;
  for (const std::int64_t size : sizes)
    rest = rest % size == 0 ? rest / size : 0;
  if (rest == 1) return std::nullopt;
  return Refusal{fmt::format("{} ranks", ranks),
                 fmt::format("the factors [{}] do not multiply to them",
                             fmt::join(sizes, ", ")),
                 "give the sizes of the groups, innermost first, whose product "
                 "is the number of ranks: [4, 8] for 32"};
}

Factors factors_of(std::span<const std::int64_t> sizes) {
  Factors factors;
  for (const std::int64_t size : sizes) {
    // Groups of one do nothing, and would be a stage all the same.
    if (size > 1) factors.push_back(static_cast<int>(size));
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
