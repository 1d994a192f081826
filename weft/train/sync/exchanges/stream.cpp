// Sparse streams in a sparse all-reduce: each bucket's picked entries are
// added on their way.
#include <algorithm>
#include <limits>

#include "weft/comm/sparse/chooser.h"
#include "weft/comm/sparse/quantizer.h"
#include "weft/train/sync/exchange.h"

namespace weft {
namespace {

constexpr const char* kQuantizer = "quantizer";

// Only algorithms with a dense phase have the option.
std::string quantizer_text(const Options& options) {
  return options.contains(kQuantizer) ? option<std::string>(options, kQuantizer)
                                      : "none";
}

class StreamExchange : public Exchange {
 public:
  StreamExchange(const SyncContext& context, Network network)
      : communicator_(std::move(network.communicator)),
        seed_(context.seed),
        price_(context.price),
        compressor_(context.recipe, context.seed, context.buckets,
                    Compressor::Memory::kKept),
        // Null where the recipe leaves the choice.
        algorithm_(sparse_all_reduce_registry().find(
            collective_of(context.recipe).def->name)),
        quantizer_(make_quantizer(
            quantizer_text(collective_of(context.recipe).options))) {
    for (const Bucket& bucket : context.buckets) {
      choosers_.emplace_back(type_of(bucket), communicator_.size(),
                             // Sparse collectives know no levels, so the
                             // network is taken for a single one.
                             flat_level(network.topology));
    }
    if (algorithm_ == nullptr) rule_ = explain(context.buckets);
  }

  Task<> sum(Bucket& bucket, SyncStep step) override {
    const Channel channel =
        communicator_.open({"sparse_all_reduce", bucket.text()});
    SparseEntries entries;
    compressor_.sparsify(bucket, bucket.gradient(), step, channel.rank(),
                         entries);
    co_await channel.pause(price_.encode * static_cast<double>(bucket.bytes()));
    Stream stream = Stream::of<std::uint32_t, float>(
        entries.size, entries.indices, entries.values);
    // The sender in `message` is set by the algorithm (sparse/all_reduce.h).
    const SparseOptions options{
        .quantizer = quantizer_.codec.get(),
        .message = {seed_, bucket.number(),
                    static_cast<std::uint32_t>(step.number), 0}};
    // The choice follows from this step's entries alone: a resumed run chooses
    // as the uninterrupted one would.
    if (algorithm_ != nullptr) {
      co_await algorithm_->run(channel, stream, options);
    } else {
      co_await sparse_all_reduce(
          channel, stream, choosers_[bucket.number()], options,
          compressor_.entry_count(bucket, step.epoch), quantizer_.value_bytes);
    }
    stream.copy_to(bucket.gradient());
  }

  std::vector<NamedTensor> memory() const override {
    return compressor_.memory();
  }
  std::string text() const override {
    return fmt::format(
        "sparse_all_reduce({}) of {}",
        algorithm_ != nullptr ? algorithm_->name : "auto" + rule_,
        compressor_.last_pipeline().text());
  }

 private:
  // ": dsar for 655 of 65536 entries", what is best for the largest bucket
  // where it is known how much is sent.
  std::string explain(std::span<const Bucket> buckets) const {
    const Bucket& largest =
        *std::ranges::max_element(buckets, {}, &Bucket::bytes);
    // At so late an epoch warm-up is over, as it is in most steps.
    const auto items = compressor_.entry_count(
        largest, std::numeric_limits<std::int64_t>::max());
    if (!items) return "";
    const SparseChoice choice = choosers_[largest.number()].choose_blindly(
        static_cast<double>(*items), quantizer_.value_bytes);
    return fmt::format(": {}{} for {} of {} entries", choice.algorithm->name,
                       choice.is_quantized ? ", quantized," : "", *items,
                       largest.gradient().size());
  }

  static StreamType type_of(const Bucket& bucket) {
    return {DType::kF32, bucket.gradient().size()};
  }

  Communicator communicator_;
  std::uint64_t seed_;
  SyncPrice price_;
  Compressor compressor_;
  const SparseAllReduceDef* algorithm_;
  Quantizer quantizer_;
  std::vector<SparseChooser> choosers_;  // by bucket
  std::string rule_;                     // what "auto" comes to, for people
};

std::optional<Refusal> stream_declines(const Pipeline& codec,
                                       const Options& options) {
  if (!codec.has_plain_entries()) {
    if (codec.summable_as() == "") return cannot_be_added(codec);
    return Refusal{in_quotes(codec.text()),
                   "it is for sparse gradients, and these are dense",
                   "collective = \"auto\", or sparsify = \"topk(0.01)\""};
  }
  return quantizer_declines(quantizer_text(options));
}

}  // namespace

void register_exchange_stream(ExchangeRegistry& exchanges) {
  exchanges.add(
      {.name = "stream",
       .summary = "picked entries in a sparse all-reduce",
       .order = 30,
       .collectives = [] { return entries_of(sparse_all_reduce_registry()); },
       .can_quantize = true,
       .declines = stream_declines,
       .make = [](const SyncContext& context,
                  std::optional<Network> network) -> std::unique_ptr<Exchange> {
         return std::make_unique<StreamExchange>(context, std::move(*network));
       }});
}

}  // namespace weft
