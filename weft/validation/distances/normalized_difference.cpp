// max |a - b| / (|A| + |B|) over the counts of the values: unlike shares, it
// sees that there are more or fewer rows.
#include <algorithm>
#include <cmath>

#include "weft/validation/distance.h"

namespace weft {
namespace {

using validation::Distance;
using validation::Distributions;

Distance measure_normalized_difference(const Distributions& given) {
  Distance most;
  const double all = given.first_count + given.second_count;
  for (std::size_t i = 0; i < given.first.size(); ++i) {
    const double moved = std::abs(given.first[i] * given.first_count -
                                  given.second[i] * given.second_count) /
                         all;
    if (moved > most.value) {
      most = {moved, given.names.empty() ? "" : given.names[i]};
    }
  }
  return most;
}

// The larger of what samples of one distribution differ by at these counts, and
// of the deviation of a count.
double floor_of_normalized_difference(const Distributions& given) {
  double largest = 0;
  for (const double share : given.second) largest = std::max(largest, share);
  const double all = given.first_count + given.second_count;
  const double counts = std::abs(given.first_count - given.second_count) / all;
  return largest * counts + std::sqrt(largest * (1 - largest) / all);
}

}  // namespace

void register_distance_normalized_difference(
    validation::DistanceRegistry& registry) {
  registry.add({.name = "normalized_difference",
                .summary = "how much the count of one value moved at most, "
                           "over all rows of both",
                .takes_numbers = false,
                .measure = measure_normalized_difference,
                .floor = floor_of_normalized_difference});
}

}  // namespace weft
