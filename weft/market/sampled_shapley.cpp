#include "weft/market/sampled_shapley.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "weft/base/error.h"
#include "weft/base/permutation.h"

namespace weft::market {
namespace {

std::vector<std::int64_t> everybody(std::int64_t players) {
  if (players < 1) {
    throw Error(ErrorCode::kInvalidArgument, "shapley",
                "there is nobody to value");
  }
  std::vector<std::int64_t> all(static_cast<std::size_t>(players));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  return all;
}

}  // namespace

std::vector<double> sampled_shapley(std::int64_t players,
                                    const Utility& utility,
                                    const SampledShapleyOptions& options) {
  const std::vector<std::int64_t> all = everybody(players);
  if (options.permutations < 1) {
    throw Error(ErrorCode::kInvalidArgument, "shapley",
                "no permutation is drawn");
  }
  const double whole = utility(all);
  const double nobody = utility({});
  std::vector<double> values(all.size());
  for (std::int64_t i = 0; i < options.permutations; ++i) {
    const Permutation order(static_cast<std::uint64_t>(players), options.seed,
                            /*stream=*/0, static_cast<std::uint32_t>(i));
    std::vector<std::int64_t> some;
    double before = nobody;
    for (std::int64_t place = 0; place < players; ++place) {
      if (options.tolerance > 0 &&
          std::abs(whole - before) < options.tolerance) {
        break;
      }
      some.push_back(
          static_cast<std::int64_t>(order(static_cast<std::uint64_t>(place))));
      const double after = utility(some);
      values[static_cast<std::size_t>(some.back())] += after - before;
      before = after;
    }
  }
  for (double& value : values) {
    value /= static_cast<double>(options.permutations);
  }
  return values;
}

std::vector<double> leave_one_out(std::int64_t players,
                                  const Utility& utility) {
  const std::vector<std::int64_t> all = everybody(players);
  const double whole = utility(all);
  std::vector<double> values;
  for (const std::int64_t player : all) {
    std::vector<std::int64_t> others = all;
    others.erase(others.begin() + player);
    values.push_back(whole - utility(others));
  }
  return values;
}

}  // namespace weft::market
