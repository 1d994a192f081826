// How the sum of sparse vectors fills up.
//
// Threads: pure.
#pragma once

#include "weft/comm/sparse/all_reduce.h"

namespace weft {

// The expected items of the sum of `ranks` vectors of `size` elements, each
// with `items` at random places: N (1 - (1 - k / N)^P).
double expected_items(double size, double items, double ranks);

// Steps of an all-gather: ceil(log2 P).
double gather_steps(int ranks);

// What the sum of only some of the contributions holds. Supports that overlap
// more than random ones behave like random ones in a smaller vector: that
// whose expected sum is the K of the workload.
class Fill {
 public:
  explicit Fill(const SparseWorkload& workload);

  // Items of the sum of `ranks` contributions.
  double items(double ranks) const;
  // Bytes of that sum, sparse or dense.
  double bytes(double ranks) const;
  // The same for the largest of `parts` partitions.
  double part_items(double ranks, int parts) const;
  double part_bytes(double ranks, int parts) const;
  // What a rank sends or gets when all gather the summed partitions.
  double gather_bytes() const;

  // Of adding up contributions of 1, 2, 4, … ranks in turn.
  double doubling_seconds() const;
  // Of adding up `ranks` contributions as a balanced tree of merges, for the
  // largest of `parts` partitions.
  double tree_seconds(int ranks, int parts) const;

 private:
  double join_seconds(double items, double size) const;

  SparseWorkload workload_;
  double support_;  // elements that ever are items
};

}  // namespace weft
