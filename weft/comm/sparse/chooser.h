// Which all-reduce is fastest for sparse streams, by what is known of the
// network and of earlier sums.
//
// Every algorithm of the registry is priced by its formula, the dense one
// among them, and the cheapest is taken. This is the rule of the paper where
// that holds (sums that stay sparse: recursive doubling if contributions are
// small, else partitions; sums that become dense: DSAR), and still right where
// a quantized dense phase beats sparse messages.
//
// How full the sum will be is what earlier sums were (a running average), or,
// before the first, N (1 - (1 - k / N)^P), that of random supports.
//
// All ranks choose alike if they are given equal numbers: `items` is to be the
// same everywhere (the k of a top-k, or the largest of all ranks), and what is
// observed are results, which are equal by nature.
//
// Source: Renggli et al., "SparCML", SC 2019.
//
// Threads: caller synchronises.
#pragma once

#include <string>

#include "weft/comm/sparse/all_reduce.h"

namespace weft {

struct SparseChoice {
  const SparseAllReduceDef* algorithm = nullptr;
  bool is_quantized = false;
  double seconds = 0;  // expected
  // The workload, and what each algorithm would take, cheapest first.
  std::string explanation;
};

// Of one tensor.
class SparseChooser {
 public:
  SparseChooser(const StreamType& type, int ranks, const Level& network,
                const SumRates& rates = {});

  // For contributions of `items` each. `quantized_value_bytes` is what a
  // quantizer makes of a value, or 0 where none may be used.
  SparseChoice choose(double items, double quantized_value_bytes = 0) const;
  // The workload that choose() prices.
  SparseWorkload expect(double items) const;

  // Learns from a sum that was not quantized. O(items), or O(N) if it is
  // dense; once in a while is enough.
  void observe(const Stream& result);

 private:
  StreamType type_;
  int ranks_;
  Level network_;
  SumRates rates_;
  bool has_observed_ = false;
  double result_items_ = 0;  // running averages
  double skew_ = 1;
};

}  // namespace weft
