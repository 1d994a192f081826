// What each example is worth to a classifier by nearest neighbours: its Shapley
// value, exactly.
//
// The utility of a set S for a test point is the share of its min(K, |S|)
// nearest members that have the point's label, over K:
//   v(S) = 1/K · sum over the min(K, |S|) nearest in S of 1[label = y].
// With the training points by distance, alpha_1 nearest, and m(i) = 1 where
// alpha_i has the label of the test point (Jia et al., "Efficient Task-Specific
// Data Valuation for Nearest Neighbor Algorithms", VLDB 2019, theorem 1):
//   s(alpha_N) = m(N) · min(K, N) / (N · K)
//   s(alpha_i) = s(alpha_{i+1}) + (m(i) - m(i+1)) / K · min(K, i) / i
// The value of an example is the mean over all test points, and the sum of all
// values is v of the whole set. Of two equal distances the point of the smaller
// number is nearer.
//
// Threads: pure functions, on as many threads as there are; results do not
//          depend on how many.
// Cost:    O(N (d + log N)) for each of T test points.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft::market {

// Points as rows of `width` numbers, each with a label.
struct LabelledPoints {
  std::span<const float> values;
  std::span<const std::int32_t> labels;
  std::int64_t width = 0;

  std::int64_t size() const { return std::ssize(labels); }
};

struct KnnShapleyOptions {
  std::int64_t neighbours = 10;  // K, at least 1
  // Begin the recursion with 0, as the program of the paper does: all values of
  // a test point are then off by a number, and do not add up to v.
  bool begins_at_zero = false;
};

// Throws Error(kInvalidArgument) for no points on either side, for widths that
// differ, and for fewer than one neighbour.
std::vector<double> knn_shapley(const LabelledPoints& train,
                                const LabelledPoints& test,
                                const KnnShapleyOptions& options = {});

// The same with every point valued by the folds that it is not tested in: row i
// is in fold i mod `folds`, and has the mean of its values over the other ones.
// Throws Error(kInvalidArgument) for fewer than two folds or fewer points than
// folds.
std::vector<double> cross_validated_knn_shapley(
    const LabelledPoints& points, std::int64_t folds,
    const KnnShapleyOptions& options = {});

// v of the points `rows` of `train`, as a mean over the test points: what the
// values divide among them.
double knn_utility(const LabelledPoints& train, const LabelledPoints& test,
                   std::span<const std::int64_t> rows, std::int64_t neighbours);

}  // namespace weft::market
