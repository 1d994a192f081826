// Which all-reduce is fastest for sparse streams, by what is known of the
// network and of the contributions.
//
// Every algorithm of the registry is priced by following its messages, the
// dense one among them, and the cheapest is taken. This is the rule of the
// paper where that holds (sums that stay sparse: recursive doubling if
// contributions are small, else partitions; sums that become dense: DSAR), and
// still right where a quantized dense phase beats sparse messages. Algorithms
// that share the work by partitions are priced for several cuts: parts of
// equal lengths, or where supports are skewed, of about equally many items.
//
// How full the sum gets follows from where the items are (support.h), as a
// survey tells (survey.h). Where that would take longer than it can save, what
// is best on average for even and for skewed supports is taken.
//
// All ranks choose alike if they are given equal numbers.
//
// Source: Renggli et al., "SparCML", SC 2019.
//
// Threads: immutable.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "weft/comm/sparse/all_reduce.h"

namespace weft {

struct SparseChoice {
  const SparseAllReduceDef* algorithm = nullptr;
  bool is_quantized = false;
  Partitions partitions;
  double seconds = 0;  // expected
  // The workload, and what each algorithm would take, cheapest first.
  std::string explanation;
};

// Chooses for one tensor.
class SparseChooser {
 public:
  SparseChooser(const StreamType& type, int ranks, const Level& network,
                const SumRates& rates = {});

  // `quantized_value_bytes` is what a quantizer makes of a value, or 0 where
  // none may be used.
  SparseChoice choose(const Support& support,
                      double quantized_value_bytes = 0) const;
  // The same where nothing is known of where the items are.
  SparseChoice choose_blindly(double items,
                              double quantized_value_bytes = 0) const;
  // The workload that choose() prices, with parts of equal lengths.
  SparseWorkload workload(const Support& support) const;
  // Whether a survey of contributions of `items` each is cheap beside their
  // sum.
  bool should_survey(double items) const;

 private:
  SparseChoice choose(std::span<const Support> equally_likely,
                      double quantized_value_bytes) const;

  StreamType type_;
  int ranks_;
  Level network_;
  SumRates rates_;
};

// The sum by the algorithm that is fastest. `items` is what each rank
// contributes where all know that it is the same; else, and where it pays,
// they ask each other first. `options` needs neither most_items nor
// partitions; `quantized_value_bytes` is what its quantizer makes of a value.
// `stream` must live until the task is over. Throws as survey() and the
// algorithm do.
Task<SparseChoice> sparse_all_reduce(Channel channel, Stream& stream,
                                     SparseChooser chooser,
                                     SparseOptions options,
                                     std::optional<std::uint64_t> items = {},
                                     double quantized_value_bytes = 0);

}  // namespace weft
