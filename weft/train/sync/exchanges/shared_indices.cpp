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
        price_(context.price),
        compressor_(context.recipe, context.seed, context.buckets,
                    Compressor::Memory::kKept),
        collective_(collective_of(context.recipe),
                    std::move(network.topology)) {}

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
    // What was computed before the sum is charged behind it: to wait before
    // would let workers enter their sums in different orders.
    co_await Pause(communicator_.transport(),
                   price_.encode * static_cast<double>(bucket.bytes()));
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
  SyncPrice price_;
  Compressor compressor_;
  DenseCollective collective_;
};

std::optional<Refusal> shared_indices_decline(const Pipeline& codec,
                                              const Options&) {
  if (codec.summable_as() == "") return cannot_be_added(codec);
  if (codec.has_shared_indices()) return std::nullopt;
  return Refusal{in_quotes(codec.text()),
                 "workers do not pick the same entries",
                 "sparsify = \"randomk(0.01)\""};
}

}  // namespace

void register_exchange_shared_indices(ExchangeRegistry& exchanges) {
  exchanges.add(
      {.name = "shared_indices",
       .summary = "entries that all workers pick alike, in a dense all-reduce",
       .order = 20,
       .collectives = [] { return entries_of(all_reduce_registry()); },
       .declines = shared_indices_decline,
       .make = [](const SyncContext& context,
                  std::optional<Network> network) -> std::unique_ptr<Exchange> {
         return std::make_unique<SharedIndicesExchange>(context,
                                                        std::move(*network));
       }});
}

}  // namespace weft
