// max |p - q| over the values: how much the share of one value has moved at
// most. It is chosen for its plain meaning (Breck et al., "Data validation for
// machine learning", MLSys 2019, section 3.2).
#include <algorithm>
#include <cmath>

#include "weft/validation/distance.h"

namespace weft {
namespace {

using validation::Distance;
using validation::Distributions;

Distance measure_l_infinity(const Distributions& given) {
  Distance most;
  for (std::size_t i = 0; i < given.first.size(); ++i) {
    const double moved = std::abs(given.first[i] - given.second[i]);
    if (moved > most.value) {
      most = {moved, given.names.empty() ? "" : given.names[i]};
    }
  }
  return most;
}

// The largest of the normal deviations of all shares: sqrt(2 ln k) of the
// largest one, as that of k independent ones is.
double floor_of_l_infinity(const Distributions& given) {
  double variance = 0;
  double places = 0;
  for (const double share : given.second) {
    variance = std::max(variance, share * (1 - share));
    if (share > 0) ++places;
  }
  const double samples = 1 / given.first_count + 1 / given.second_count;
  return std::sqrt(variance * samples * 2 * std::log(std::max(places, 2.0)));
}

}  // namespace

void register_distance_l_infinity(validation::DistanceRegistry& registry) {
  registry.add({.name = "l_infinity",
                .summary = "how much the share of one value moved at most",
                .takes_numbers = false,
                .measure = measure_l_infinity,
                .floor = floor_of_l_infinity});
}

}  // namespace weft
