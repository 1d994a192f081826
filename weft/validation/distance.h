// How far two distributions are apart. A new distance is one file in
// weft/validation/distances.
//
// Threads: pure functions; the registry is immutable.
#pragma once

#include <optional>
#include <string>

#include "weft/base/registry.h"
#include "weft/validation/summary.h"

namespace weft::validation {

// The two, as shares or as counts, on common places.
struct Distributions {
  std::vector<double> first;  // the data that are held against others
  std::vector<double> second;
  // What the places are, where they are values and no buckets.
  std::vector<std::string> names = {};
  double first_count = 0;
  double second_count = 0;
};

struct Distance {
  double value = 0;
  std::string where = {};  // the value at which it is attained, if any
};

struct DistanceDef {
  std::string name;
  std::string summary;
  bool takes_numbers = true;  // or values alone
  // `given` has shares. Throws nothing.
  Distance (*measure)(const Distributions& given) = nullptr;
  // What it is expected to be for two samples of one distribution of so many
  // places, whose shares are `given.second`: what sampling alone makes of it.
  double (*floor)(const Distributions& given) = nullptr;
};

using DistanceRegistry = Registry<DistanceDef>;

// A feature of one batch held against that of another, as values where it has
// texts, and as aligned histograms (histogram.h) where it has numbers. Throws
// Error(kInvalidArgument) where either is empty, where one has numbers and the
// other texts, and for a distance of values alone on numbers.
Distributions distributions_of(const FeatureSummary& first,
                               const FeatureSummary& second,
                               const std::string& histogram,
                               bool takes_numbers = true);

struct MeasuredDistance {
  Distance distance;
  double floor = 0;
};
MeasuredDistance measure_distance(const DistanceDef& def,
                                  const FeatureSummary& first,
                                  const FeatureSummary& second,
                                  const std::string& histogram);

}  // namespace weft::validation

namespace weft {
// It is filled from the files of weft/validation/distances.
const validation::DistanceRegistry& distance_registry();
}  // namespace weft
