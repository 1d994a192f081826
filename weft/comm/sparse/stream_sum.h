// The sum of two streams (Renggli et al., 2019, section 5.1).
//
//   dense + dense    added element by element, in place
//   dense + sparse   the items are added where they belong, in place
//   sparse + sparse  items that follow one another are joined; if there may be
//                    too many for a sparse stream (the upper bound, counts
//                    added up, decides: the union is not computed first) both
//                    go into a dense one; else they are merged
//
// The bits of a sum depend on the operands and their order alone.
//
// Threads: pure.
#pragma once

#include <span>

#include "weft/comm/sparse/stream.h"

namespace weft {

// first + second, which are of one type. The memory of a dense operand becomes
// that of the result.
Stream sum(Stream first, Stream second);

// The merge alone: items by ascending index, equal indices added. Room for
// n1 + n2 items; returns how many there are. Without a branch that depends on
// the data: 280 to 360 million items (n1 + n2) a second on a Zen 4 core
// (weft-micro, stream_bench.cpp).
template <class Index, class Value>
std::size_t merge_items(std::span<const Index> first_indices,
                        const Value* first_values,
                        std::span<const Index> second_indices,
                        const Value* second_values, Index* indices,
                        Value* values);

// What a rank of a simulated world is charged for summing, in seconds per
// item: one Zen 4 core (weft-micro --benchmark_filter=stream).
struct SumRates {
  double merge = 4e-9;         // per item of both
  double scatter = 2.5e-9;     // per item added into a dense stream
  double add = 0.8e-9;         // per element of two dense streams
  double clear = 2.8e-9;       // per element of a new one: fresh pages
  double quantize = 2e-9;      // per element: qsgd(4)
  double dequantize = 1.1e-9;  // per element
};
// What sum() of these takes, by the rates.
double sum_seconds(const Stream& first, const Stream& second,
                   const SumRates& rates);

}  // namespace weft
