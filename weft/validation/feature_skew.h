// Whether the same event has the same features in training and in serving: both
// are joined by features that identify an event, and compared feature by
// feature.
//
// Threads: pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weft/validation/row_source.h"

namespace weft::validation {

struct FeatureSkewOptions {
  std::vector<std::string> identifiers = {};  // at least one
  // Numbers are compared when rounded to so many digits behind the point.
  std::optional<int> digits = {};
  // Whether rows that share an identifier are all paired with each other; else
  // they are counted and left out, as which belong together is not known.
  bool pairs_duplicates = false;
  // Features of one value whose pairs of values are counted.
  std::vector<std::string> confusion = {};
  std::size_t most_samples = 20;  // of pairs that differ, for each feature
};

struct FeatureSkew {
  std::string name;
  std::uint64_t base = 0;  // pairs in which training has it
  std::uint64_t test = 0;  // and in which serving has
  std::uint64_t match = 0;
  std::uint64_t mismatch = 0;
  std::uint64_t base_only = 0;
  std::uint64_t test_only = 0;
  struct Sample {
    std::string identifier;
    std::string base;
    std::string test;
  };
  std::vector<Sample> samples = {};
  // They are counted by the values of training and serving, which are few.
  std::map<std::pair<std::string, std::string>, std::uint64_t> confusion = {};

  std::uint64_t diff() const { return base_only + test_only + mismatch; }
};

struct FeatureSkewReport {
  std::uint64_t base_rows = 0;
  std::uint64_t test_rows = 0;
  std::uint64_t pairs = 0;
  // Rows that lack an identifier, and those whose identifier comes again.
  std::uint64_t base_without = 0;
  std::uint64_t test_without = 0;
  std::uint64_t base_duplicates = 0;
  std::uint64_t test_duplicates = 0;
  std::vector<FeatureSkew> features;  // those of either side, by name
};

// Rows meet by a fingerprint of 64 bits of their identifiers, each by name, so
// that their order does not matter. A number is compared as a number ("1" is
// "1.0"), a list as a list; lacking a feature and having an empty list is the
// same. `base` and the rows of `test` that meet it are kept in memory. Throws
// Error(kInvalidArgument) where a side has no feature called as an identifier,
// and what reading throws.
FeatureSkewReport measure_feature_skew(RowSource& base, RowSource& test,
                                       const FeatureSkewOptions& options);

}  // namespace weft::validation
