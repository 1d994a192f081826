// ½ KL(p‖m) + ½ KL(q‖m) with m = ½ (p + q), in bits: 0 for the same, 1 for
// distributions without a common place (Lin, "Divergence measures based on the
// Shannon entropy", 1991).
#include <algorithm>
#include <cmath>
#include <numbers>

#include "weft/validation/distance.h"

namespace weft {
namespace {

using validation::Distance;
using validation::Distributions;

double bits(double share, double middle) {
  return share > 0 ? share * std::log2(share / middle) : 0;
}

Distance measure_jensen_shannon(const Distributions& given) {
  double sum = 0;
  for (std::size_t i = 0; i < given.first.size(); ++i) {
    const double middle = (given.first[i] + given.second[i]) / 2;
    sum += bits(given.first[i], middle) + bits(given.second[i], middle);
  }
  // Rounding must not make it negative, or more than all.
  return {std::clamp(sum / 2, 0.0, 1.0), {}};
}

// Near p = q the divergence is 1/8 Σ (p - q)² / p, and each term is expected to
// be (1 - p) (1/n + 1/m).
double floor_of_jensen_shannon(const Distributions& given) {
  double places = 0;
  for (std::size_t i = 0; i < given.first.size(); ++i) {
    if (given.first[i] + given.second[i] > 0) ++places;
  }
  const double samples = 1 / given.first_count + 1 / given.second_count;
  return std::min(1.0, (places - 1) * samples / (8 * std::numbers::ln2));
}

}  // namespace

void register_distance_jensen_shannon(validation::DistanceRegistry& registry) {
  registry.add({.name = "jensen_shannon",
                .summary = "the Jensen-Shannon divergence in bits, from 0 to "
                           "1, of values or of histograms",
                .measure = measure_jensen_shannon,
                .floor = floor_of_jensen_shannon});
}

}  // namespace weft
