// How wrong the operations of a relaxed object were, as a distribution, and how
// far two such distributions are apart.
//
// An object is distributionally linearizable to a randomised sequential process
// if its operations can be ordered so that the costs of their answers are
// distributed as the process's are. So a check has two halves: the costs of a
// recorded history (history.h) and those of the process (two_choice_process.h),
// and a comparison of the two, here.
//
// Where: Alistarh and others, SPAA 2018, section on distributional
// linearizability; two-sample Kolmogorov-Smirnov test for the comparison.
//
// Threads: immutable.
#pragma once

#include <cstddef>
#include <vector>

namespace weft::concurrent {

class CostDistribution {
 public:
  // Throws Error(kInvalidArgument) for no costs. Sorts them: O(n log n).
  explicit CostDistribution(std::vector<double> costs);

  std::size_t size() const { return sorted_.size(); }
  double mean() const;
  double most() const { return sorted_.back(); }
  // The fraction of costs that are at most `cost`.
  double at_most(double cost) const;
  // Says by how much, at most, costs at or below some value are rarer here than
  // there. 0 says that these costs are stochastically no larger.
  double excess_over(const CostDistribution& other) const;
  // Kolmogorov and Smirnov's statistic: the largest difference of the two.
  double distance_to(const CostDistribution& other) const;

 private:
  std::vector<double> sorted_;
};

// What two samples of one distribution exceed with probability `level`.
double distance_threshold(std::size_t first, std::size_t second, double level);

}  // namespace weft::concurrent
