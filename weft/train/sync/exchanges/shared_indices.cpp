// Entries that all workers pick at the same places, as randomk does: their
// values alone travel, in a dense all-reduce.
#include <algorithm>

#include "weft/train/sync/dense_collective.h"
#include "weft/train/sync/exchange.h"

namespace weft {
namespace {

class SharedIndicesExchange : public Exchange {
 public:
  SharedIndicesExchange(const SyncContext& context, Network network)
      : communicator_(std::move(network.communicator)),
        compressor_(context.recipe, context.seed, context.buckets,
                    Compressor::Memory::kKept),
        collective_(context.recipe.collective, std::move(network.topology)) {}

  Task<> sum(Bucket& bucket, SyncStep step) override {
    SparseEntries entries;
    compressor_.sparsify(bucket, bucket.gradient(), step, communicator_.rank(),
                         entries);
    const DenseBuffer values{
        DType::kF32, std::as_writable_bytes(std::span(entries.values)).data(),
        entries.values.size()};
    co_await collective_.sum(
        communicator_, values,
        // The number of entries is part of the name: workers that drew other
        // numbers of them are told, and do not add what does not belong
        // together.
        fmt::format("{} entries of {}", entries.values.size(), bucket.text()));
    const auto gradient = bucket.gradient();
    std::ranges::fill(gradient, 0.0f);
    for (std::size_t i = 0; i < entries.indices.size(); ++i) {
      // The own indices are everyone's, so they need not have travelled.
      gradient[entries.indices[i]] = entries.values[i];
    }
  }

  std::vector<NamedTensor> memory() const override {
    return compressor_.memory();
  }
  std::string text() const override {
    return fmt::format("all_reduce({}) of {}", collective_.text(),
                       compressor_.last_pipeline().text());
  }

 private:
  Communicator communicator_;
  Compressor compressor_;
  DenseCollective collective_;
};

}  // namespace

std::unique_ptr<Exchange> make_shared_indices_exchange(
    const SyncContext& context, Network network) {
  return std::make_unique<SharedIndicesExchange>(context, std::move(network));
}

}  // namespace weft
