// Sums of sparse streams over all ranks of a group: the algorithms, what they
// cost, and how they are found. chooser.h picks one.
//
// All leave the same bits on every rank; which bits depends on the
// contributions and on the algorithm, never on timing.
//
// Source: Renggli et al., "SparCML", SC 2019.
//
// Threads: as the transport.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/registry.h"
#include "weft/comm/codec/codec.h"
#include "weft/comm/sparse/partitions.h"
#include "weft/comm/sparse/stream_sum.h"
#include "weft/comm/sparse/support.h"
#include "weft/comm/transport/communicator.h"
#include "weft/comm/transport/topology.h"

namespace weft {

// Equal on all ranks.
struct SparseOptions {
  // No rank contributes more items; more is an Error(kDataLoss). Messages are
  // received into room for the largest that this allows.
  std::uint64_t most_items = StreamType::kMostSize;
  // Which part of the sum each rank computes, in the algorithms that share
  // that work; even if there are none.
  Partitions partitions = {};
  // Dense phases send values through it, where not null (f32 only). Its rank's
  // position becomes the sender of `message`.
  const ValueCodec* quantizer = nullptr;
  MessageId message = {};
  // What ranks of a simulated world are charged for computing.
  SumRates rates = {};
};

// What is known about a sum before it is computed.
struct SparseWorkload {
  int ranks = 1;
  StreamType type;
  Support support;        // of the contributions
  Partitions partitions;  // one part per rank
  // The bytes of a value in dense phases: the dtype's, or fewer if quantized.
  double dense_value_bytes = 4;
  SumRates rates = {};

  bool is_quantized() const {
    return dense_value_bytes < static_cast<double>(type.value_bytes());
  }
};

struct SparseCost {
  double seconds = 0;  // to be expected
  // What the busiest rank sends; headers are not counted.
  double bytes = 0;  // to be expected
  double least_bytes = 0;
  double most_bytes = 0;
};

struct SparseAllReduceDef {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options = {};
  // Whether the result is dense whatever the contributions are.
  bool is_result_dense = false;
  // Whether it cuts vectors where `partitions` says.
  bool is_partitioned = false;
  SparseCost (*cost)(const SparseWorkload& workload,
                     const Level& network) = nullptr;
  // Replaces `stream` by the sum of all ranks' streams, which have one type.
  // The caller leaves `stream` alone until the task is over.
  // Throws Error(kDataLoss) for a damaged message, naming rank and field.
  Task<> (*run)(Channel channel, Stream& stream,
                SparseOptions options) = nullptr;

  // Whether a quantizer is among its options (quantizer.h).
  bool can_quantize() const;
};

using SparseAllReduceRegistry = Registry<SparseAllReduceDef>;

// It is filled from the files of sparse/algorithms.
const SparseAllReduceRegistry& sparse_all_reduce_registry();

}  // namespace weft
