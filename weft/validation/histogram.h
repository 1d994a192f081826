// Histograms of numbers, and how two of them are brought onto the same buckets.
//
// Threads: value types and pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/validation/value_profile.h"

namespace weft::validation {

// The numbers in [low, high); in [low, high] of the last one, and of one that
// is a point. `low` may be -inf, `high` inf.
struct Bucket {
  double low = 0;
  double high = 0;
  double count = 0;

  bool operator==(const Bucket&) const = default;
};

struct Histogram {
  std::vector<Bucket> buckets;  // in order, without overlap
  double nans = 0;              // in no bucket
};

// So many buckets of one width from the least to the most finite number, by the
// sketch's ranks; empty where there are no numbers.
Histogram equal_width_histogram(const ValueProfile& profile, int buckets);
// So many buckets with equal counts.
Histogram quantile_histogram(const ValueProfile& profile, int buckets);
// A bucket for each value: exact counts of numbers.
Histogram value_histogram(const std::vector<ValueCount>& values);

// Shares of both histograms on common buckets, each summing to 1.
//
// Buckets without width, which are point masses, and infinite ones are taken
// out; the boundaries of the rest are joined, and each bucket is split by width
// as if its numbers were spread evenly. Point masses come back as buckets of
// their own. Infinite buckets, and NaN, become two one-sided ones that match
// nothing on the other side.
//
// Throws Error(kInvalidArgument) where either has no numbers: a distance to
// nothing is none. Source: tensorflow/data-validation, anomalies/metrics.cc.
struct AlignedShares {
  std::vector<double> first;
  std::vector<double> second;
};
AlignedShares align(const Histogram& first, const Histogram& second);

}  // namespace weft::validation
