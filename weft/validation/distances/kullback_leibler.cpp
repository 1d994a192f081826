// KL(p‖q) in bits, of counts with half a value more at each place: without
// them one value that the other side lacks would make it infinite.
#include <cmath>
#include <numbers>

#include "weft/validation/distance.h"

namespace weft {
namespace {

using validation::Distance;
using validation::Distributions;

constexpr double kAdded = 0.5;

Distance measure_kullback_leibler(const Distributions& given) {
  const auto added = kAdded * static_cast<double>(given.first.size());
  double sum = 0;
  for (std::size_t i = 0; i < given.first.size(); ++i) {
    const double p = (given.first[i] * given.first_count + kAdded) /
                     (given.first_count + added);
    const double q = (given.second[i] * given.second_count + kAdded) /
                     (given.second_count + added);
    sum += p * std::log2(p / q);
  }
  return {sum < 0 ? 0 : sum, {}};
}

// Near p = q it is 1/2 Σ (p - q)² / p.
double floor_of_kullback_leibler(const Distributions& given) {
  const auto places = static_cast<double>(given.first.size());
  const double samples = 1 / given.first_count + 1 / given.second_count;
  return (places - 1) * samples / (2 * std::numbers::ln2);
}

}  // namespace

void register_distance_kullback_leibler(
    validation::DistanceRegistry& registry) {
  registry.add({.name = "kullback_leibler",
                .summary = "the Kullback-Leibler divergence in bits, smoothed; "
                           "for comparison",
                .measure = measure_kullback_leibler,
                .floor = floor_of_kullback_leibler});
}

}  // namespace weft
