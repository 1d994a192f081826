// A first schema, from what one batch of data holds: conservative, and never a
// guess from the range of numbers.
//
// Threads: pure functions.
#pragma once

#include "weft/validation/schema.h"

namespace weft::validation {

struct InferOptions {
  // Texts with at most so many different values are a list of these.
  std::size_t most_values = 100;
  // Two lists are one where they are the same, or of more than `least_shared`
  // values each with this much in common (the size of the intersection over
  // that of the union).
  double similarity = 0.5;
  // From so many values on they are times, images or sentences: all of them, or
  // of sentences this share.
  std::uint64_t least_formed = 20;
  double language_share = 0.8;
  std::size_t least_shared = 10;
  // Bounds of numbers as well: those seen. For a person to look at.
  bool suggests_ranges = false;
};

FeatureRule infer_feature(const FeatureSummary& feature,
                          const InferOptions& options = {});
Schema infer_schema(const StatisticsSummary& data,
                    const InferOptions& options = {});

// Sizes of lists, as they were seen: a shape where each level has one, else
// bounds.
void infer_counts(const FeatureSummary& feature, FeatureRule& rule);

}  // namespace weft::validation
