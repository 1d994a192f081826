// How the gradients of a bucket become their sum over all workers: the forms
// that policy allreduce chooses from.
//
//   dense           the values, or a 16-bit form of them, in a dense all-reduce
//   shared_indices  the values that all workers pick at the same places, in a
//                   dense all-reduce
//   stream          sparse streams, in a sparse all-reduce
//   gather          messages of any codec to everyone, who decodes and adds
//
// All leave the same bits on every worker.
//
// Threads: tasks of the network's thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/train/sync/compressor.h"
#include "weft/train/sync/network.h"
#include "weft/train/sync/policy.h"

namespace weft {

class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual Task<> sum(Bucket& bucket, SyncStep step) = 0;
  // What this worker keeps of its own.
  virtual std::vector<NamedTensor> memory() const { return {}; }
  // For people: "all_reduce(ring) of f32".
  virtual std::string text() const = 0;
};

// What a recipe asks for, before the network is known.
enum class ExchangeKind { kDense, kSharedIndices, kStream, kGather };

// Throws Error(kInvalidArgument), with the reason and the nearest thing that
// works, when codec and collective do not go together. Codec "auto" goes with
// any.
ExchangeKind exchange_kind(const SyncRecipe& recipe);

// Throws Error(kInvalidArgument) when so many workers cannot train by it: its
// topology is of another number, or its collective does not divide into them.
void check_ranks(const SyncRecipe& recipe, int ranks);

std::unique_ptr<Exchange> make_dense_exchange(const SyncContext& context,
                                              Network network);
std::unique_ptr<Exchange> make_shared_indices_exchange(
    const SyncContext& context, Network network);
std::unique_ptr<Exchange> make_stream_exchange(const SyncContext& context,
                                               Network network);
std::unique_ptr<Exchange> make_gather_exchange(const SyncContext& context);

}  // namespace weft
