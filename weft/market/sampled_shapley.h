// Values of examples or shards for any utility, by asking for it many times:
// what knn_shapley.h is compared with, and what is left for models that have no
// closed form.
//
// Threads: as the utility.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace weft::market {

// v(S) of some of the players, in any order; v of nobody is asked for too.
using Utility = std::function<double(std::span<const std::int64_t> players)>;

struct SampledShapleyOptions {
  std::int64_t permutations = 1000;
  // The rest of a permutation counts nothing once v is as near to v of all
  // (Ghorbani and Zou, "Data Shapley", ICML 2019, algorithm 1); 0: never.
  double tolerance = 0;
  std::uint64_t seed = 1;
};

// The mean of what each player adds in permutations that are drawn evenly. The
// error falls with the root of their number. Throws Error(kInvalidArgument) for
// no player or no permutation.
std::vector<double> sampled_shapley(std::int64_t players,
                                    const Utility& utility,
                                    const SampledShapleyOptions& options);

// v(all) - v(all but i). Throws as above.
std::vector<double> leave_one_out(std::int64_t players, const Utility& utility);

}  // namespace weft::market
