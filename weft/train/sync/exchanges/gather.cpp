// Messages of any codec, gathered by everyone: for codecs whose messages
// cannot be added on their way.
#include "weft/train/sync/gather.h"

#include <algorithm>

#include "weft/comm/collective/scatter_gather.h"
#include "weft/train/sync/aggregation_rule.h"
#include "weft/train/sync/exchange.h"

namespace weft {
namespace {

class GatherExchange : public Exchange {
 public:
  explicit GatherExchange(const SyncContext& context)
      : communicator_(context.communicator),
        price_(context.price),
        rule_(make_rule(context.recipe)),
        compressor_(context.recipe, context.seed, context.buckets,
                    Compressor::Memory::kKept) {}

  Task<> sum(Bucket& bucket, SyncStep step) override {
    const std::string& codec = compressor_.pipeline(step.epoch).text();
    // Both channels are opened before anything is waited for: buckets overtake
    // each other, and operations must be entered in the same order everywhere.
    const Channel counting = communicator_.open(
        {"sum", "sizes of " + bucket.text(), bucket.priority()});
    const Channel gathering = communicator_.open(
        {"all_gather", fmt::format("{} by {}", bucket.text(), codec),
         bucket.priority()});
    const int rank = gathering.rank();
    Bytes own;
    compressor_.encode(bucket, bucket.gradient(), step, rank, own);
    const auto bytes = static_cast<double>(bucket.bytes());
    co_await gathering.pause(price_.encode * bytes);
    // Everyone adds zeros but at its own place, so one sum tells all sizes.
    std::vector<double> sizes(static_cast<std::size_t>(gathering.size()));
    sizes[static_cast<std::size_t>(rank)] = static_cast<double>(own.size());
    co_await sum_over_workers(counting, sizes);

    const Parts parts = Parts::of_sizes({sizes.begin(), sizes.end()});
    Bytes messages(parts.whole().size());
    std::ranges::copy(
        own, messages.begin() + static_cast<std::ptrdiff_t>(parts[rank].begin));
    const DenseBuffer buffer{DType::kU8, messages.data(), messages.size()};
    co_await all_gather(ScatterMethod::kDirect, gathering, buffer, parts);
    // Messages are decoded in the order of ranks, the own one like the rest:
    // that gives the same bits everywhere.
    const auto add_decoded = [&](int sender, std::span<float> sum) {
      const Interval part = parts[sender];
      compressor_.add_decoded(
          bucket,
          std::span<const std::byte>(messages).subspan(part.begin, part.size()),
          step, sender, sum);
    };
    if (rule_ == nullptr) {
      std::ranges::fill(bucket.gradient(), 0.0f);
      for (int sender = 0; sender < gathering.size(); ++sender) {
        add_decoded(sender, bucket.gradient());
      }
    } else {
      std::vector<std::vector<float>> all(
          static_cast<std::size_t>(gathering.size()),
          std::vector<float>(bucket.gradient().size()));
      std::vector<Contribution> arrived;
      for (int sender = 0; sender < gathering.size(); ++sender) {
        std::vector<float>& values = all[static_cast<std::size_t>(sender)];
        add_decoded(sender, values);
        arrived.push_back({sender, values});
      }
      combine_as_sum(*rule_, arrived, bucket.gradient());
    }
    co_await gathering.pause(gathering.size() * price_.decode * bytes);
  }

  std::vector<NamedTensor> memory() const override {
    return compressor_.memory();
  }
  std::string text() const override {
    return "all_gather of messages by " + compressor_.last_pipeline().text();
  }

 private:
  Communicator& communicator_;
  SyncPrice price_;
  std::unique_ptr<AggregationRule> rule_;  // null: all are added
  Compressor compressor_;
};

}  // namespace

void register_exchange_gather(ExchangeRegistry& exchanges) {
  exchanges.add({.name = "gather",
                 .summary = "messages of any codec to everyone",
                 .order = 40,
                 .collectives =
                     [] {
                       return std::vector<EntryOptions>{
                           {"all_gather",
                            "messages to everyone, who decodes and adds",
                            {},
                            "collective"}};
                     },
                 // Messages go from each to each whatever the network is, so it
                 // is not measured.
                 .takes_rules = true,
                 .uses_network = false,
                 .make = [](const SyncContext& context, std::optional<Network>)
                     -> std::unique_ptr<Exchange> {
                   return std::make_unique<GatherExchange>(context);
                 }});
}

}  // namespace weft
