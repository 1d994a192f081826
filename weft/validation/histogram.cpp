#include "weft/validation/histogram.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "weft/validation/value_text.h"

namespace weft::validation {
namespace {

double least_number(const ValueProfile& profile) {
  return std::min(profile.least_float,
                  profile.integers > 0
                      ? static_cast<double>(profile.least_integer)
                      : profile.least_float);
}

double most_number(const ValueProfile& profile) {
  return std::max(profile.most_float,
                  profile.integers > 0
                      ? static_cast<double>(profile.most_integer)
                      : profile.most_float);
}

void add_infinities(const ValueProfile& profile, Histogram& histogram) {
  histogram.nans = static_cast<double>(profile.nans);
  if (profile.negative_infinities > 0) {
    histogram.buckets.insert(
        histogram.buckets.begin(),
        {-HUGE_VAL, -HUGE_VAL,
         static_cast<double>(profile.negative_infinities)});
  }
  if (profile.positive_infinities > 0) {
    histogram.buckets.push_back(
        {HUGE_VAL, HUGE_VAL, static_cast<double>(profile.positive_infinities)});
  }
}

bool is_point(const Bucket& bucket) { return bucket.low == bucket.high; }
bool is_infinite(const Bucket& bucket) {
  return std::isinf(bucket.low) || std::isinf(bucket.high);
}

// The counts of finite buckets with a width, spread over `cuts`.
std::vector<double> spread(const Histogram& histogram,
                           const std::vector<double>& cuts) {
  std::vector<double> counts(cuts.empty() ? 0 : cuts.size() - 1);
  for (const Bucket& bucket : histogram.buckets) {
    if (is_infinite(bucket) || is_point(bucket)) continue;
    const auto first = std::ranges::lower_bound(cuts, bucket.low);
    for (auto i = static_cast<std::size_t>(first - cuts.begin());
         i + 1 < cuts.size() && cuts[i] < bucket.high; ++i) {
      counts[i] +=
          bucket.count * (cuts[i + 1] - cuts[i]) / (bucket.high - bucket.low);
    }
  }
  return counts;
}

double mass_of(const Histogram& histogram) {
  double mass = histogram.nans;
  for (const Bucket& bucket : histogram.buckets) mass += bucket.count;
  return mass;
}

double infinite_mass(const Histogram& histogram) {
  double mass = histogram.nans;
  for (const Bucket& bucket : histogram.buckets) {
    if (is_infinite(bucket)) mass += bucket.count;
  }
  return mass;
}

}  // namespace

Histogram equal_width_histogram(const ValueProfile& profile, int buckets) {
  Histogram histogram;
  const double low = least_number(profile);
  const double high = most_number(profile);
  if (profile.numbers.count() > 0 && low == high) {
    histogram.buckets.push_back(
        {low, high, static_cast<double>(profile.numbers.count())});
  } else if (profile.numbers.count() > 0) {
    std::vector<double> ends;
    // Halves, so that the width of all doubles is no infinity.
    const double width = high / buckets - low / buckets;
    for (int i = 1; i < buckets; ++i) ends.push_back(low + i * width);
    // A bucket does not have its upper end, and a rank counts it.
    std::vector<double> below = ends;
    for (double& end : below) end = std::nextafter(end, -HUGE_VAL);
    std::vector<double> ranks = profile.numbers.ranks(below);
    ends.push_back(high);
    ranks.push_back(static_cast<double>(profile.numbers.count()));
    for (std::size_t i = 0; i < ends.size(); ++i) {
      histogram.buckets.push_back({i == 0 ? low : ends[i - 1], ends[i],
                                   ranks[i] - (i == 0 ? 0 : ranks[i - 1])});
    }
  }
  add_infinities(profile, histogram);
  return histogram;
}

Histogram quantile_histogram(const ValueProfile& profile, int buckets) {
  Histogram histogram;
  if (profile.numbers.count() > 0) {
    std::vector<double> shares;
    for (int i = 1; i < buckets; ++i) {
      shares.push_back(static_cast<double>(i) / buckets);
    }
    std::vector<double> ends = profile.numbers.quantiles(shares);
    ends.insert(ends.begin(), least_number(profile));
    ends.push_back(most_number(profile));
    const double each = static_cast<double>(profile.numbers.count()) / buckets;
    for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
      histogram.buckets.push_back({ends[i], ends[i + 1], each});
    }
  }
  add_infinities(profile, histogram);
  return histogram;
}

Histogram value_histogram(const std::vector<ValueCount>& values) {
  Histogram histogram;
  std::map<double, double> counts;
  for (const ValueCount& value : values) {
    if (value.is_string) continue;
    const ParsedValue parsed = parse_value(value.text);
    if (parsed.kind == ValueKind::kText) continue;
    if (std::isnan(parsed.number)) {
      histogram.nans += static_cast<double>(value.count);
    } else {
      counts[parsed.number] += static_cast<double>(value.count);
    }
  }
  for (const auto& [number, count] : counts) {
    histogram.buckets.push_back({number, number, count});
  }
  return histogram;
}

AlignedShares align(const Histogram& first, const Histogram& second) {
  const double first_mass = mass_of(first);
  const double second_mass = mass_of(second);
  if (first_mass == 0 || second_mass == 0) {
    throw Error(ErrorCode::kInvalidArgument, "histogram",
                "a distance to a histogram without numbers is none");
  }
  std::set<double> ends;
  std::map<double, std::pair<double, double>> points;
  for (const Histogram* histogram : {&first, &second}) {
    for (const Bucket& bucket : histogram->buckets) {
      if (is_infinite(bucket)) continue;
      if (is_point(bucket)) {
        auto& [ours, theirs] = points[bucket.low];
        (histogram == &first ? ours : theirs) += bucket.count;
      } else {
        ends.insert({bucket.low, bucket.high});
      }
    }
  }
  const std::vector<double> cuts(ends.begin(), ends.end());
  AlignedShares shares{spread(first, cuts), spread(second, cuts)};
  for (const auto& [place, counts] : points) {
    shares.first.push_back(counts.first);
    shares.second.push_back(counts.second);
  }
  const double first_infinite = infinite_mass(first);
  const double second_infinite = infinite_mass(second);
  if (first_infinite + second_infinite > 0) {
    shares.first.insert(shares.first.end(), {first_infinite, 0});
    shares.second.insert(shares.second.end(), {0, second_infinite});
  }
  for (double& share : shares.first) share /= first_mass;
  for (double& share : shares.second) share /= second_mass;
  return shares;
}

}  // namespace weft::validation
