// How long the steps take that the sparse all-reduces are made of: the
// exchanges of exchange.h and the sums of stream_sum.h, followed message by
// message on the alpha-beta model. What arrives while a rank computes waits;
// what is computed while messages are under way costs nothing extra.
//
// Threads: pure.
#pragma once

#include <span>
#include <vector>

#include "weft/comm/sparse/all_reduce.h"

namespace weft {

// Steps of an all-gather: ceil(log2 P).
int gather_steps(int ranks);

// What gather_messages() takes for `bytes` by rank.
double gather_seconds(std::span<const double> bytes, const Level& network);

// Sums of 1, 2, 4, … times `start` contributions.
struct Doubling {
  std::vector<double> bytes;    // of each of them
  std::vector<double> seconds;  // of adding two of them
};

class Timeline {
 public:
  Timeline(const SparseWorkload& workload, const Level& network);

  // Bytes of a stream, sparse or dense.
  double bytes(double items, double size) const;
  // The same for all parts of the sum of `ranks` contributions.
  std::vector<double> part_bytes(double ranks) const;
  // What a rank gets before it can sum its part: of the busiest one.
  double received_bytes() const;

  // Times `steps` sums of the whole vector.
  Doubling doubling(int steps, double start) const;
  // What a SumTree takes for all contributions, which are all there.
  double tree_seconds() const;
  // What sum_partition() takes.
  double sum_partition_seconds(bool is_dense) const;

 private:
  Doubling doubling(int steps, std::span<const double> items,
                    double size) const;
  // What a tree does when stream number `count` has come.
  double cascade_seconds(int count, const Doubling& joins) const;
  double message_seconds(int part) const;
  // What sum_partition() takes on the rank that sums this part; `items` are
  // those of sums of 1, 2, 4, … contributions to it.
  double dense_part_seconds(int part) const;
  double sparse_part_seconds(int part, std::span<const double> items) const;

  const SparseWorkload& workload_;
  Level network_;
  std::vector<double> contribution_;  // items by part
};

}  // namespace weft
