// Messages of any codec, gathered by everyone: for codecs whose messages
// cannot be added on their way.
#include "weft/train/sync/gather.h"

#include <algorithm>

#include "weft/comm/collective/scatter_gather.h"
#include "weft/train/sync/exchange.h"
#include "weft/train/sync/rule_run.h"
#include "weft/train/sync/shared_message.h"

namespace weft {
namespace {

class GatherExchange : public Exchange {
 public:
  explicit GatherExchange(const SyncContext& context)
      : communicator_(context.communicator),
        price_(context.price),
        rule_(context, RuleRun::Holders::kEveryone),
        sends_gradients_(policy_of(context.recipe).def->sends_gradients),
        compressor_(context.recipe, context.seed, context.buckets,
                    Compressor::Memory::kKept) {}

  Task<> sum(Bucket& bucket, SyncStep step) override {
    try {
      co_await gather(bucket, step);
    } catch (...) {
      rule_.fail(std::current_exception());
      throw;
    }
  }

  std::vector<NamedTensor> memory() const override {
    return compressor_.memory();
  }
  std::vector<OwnedTensor> state() const override { return rule_.state(); }
  std::string restore(
      const std::function<Tensor(const std::string&)>& read) override {
    return rule_.restore(read);
  }
  Figures figures() const override { return rule_.figures(); }
  std::string text() const override {
    return "all_gather of messages by " + compressor_.last_pipeline().text();
  }

 private:
  Task<> gather(Bucket& bucket, SyncStep step) {
    const std::string& codec = compressor_.pipeline(step.epoch).text();
    // Both channels are opened before anything is waited for: buckets overtake
    // each other, and operations must be entered in the same order everywhere.
    const Channel counting = communicator_.open(
        {"sum", "sizes of " + bucket.text(), bucket.priority()});
    const Channel gathering = communicator_.open(
        {"all_gather", fmt::format("{} by {}", bucket.text(), codec),
         bucket.priority()});
    rule_.enter(bucket, step);
    const int rank = gathering.rank();
    Bytes own;
    compressor_.encode(bucket, bucket.gradient(), step, rank, own);
    // A rule wants to know what stands behind a message.
    if (!rule_.is_sum()) append_share(share_of(step), own);
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
    std::vector<Received> received;
    if (rule_.is_sum()) std::ranges::fill(bucket.gradient(), 0.0f);
    for (int sender = 0; sender < gathering.size(); ++sender) {
      const auto message = std::span<const std::byte>(messages).subspan(
          parts[sender].begin, parts[sender].size());
      if (rule_.is_sum()) {
        compressor_.add_decoded(bucket, message, step, sender,
                                bucket.gradient());
      } else {
        Received& each = received.emplace_back(
            sender, 0.0, std::vector<float>(bucket.gradient().size()));
        each.share = add_with_share(compressor_, bucket, message, step, sender,
                                    each.values);
      }
    }
    if (!rule_.is_sum()) {
      co_await rule_.combine(bucket, step, std::move(received));
    }
    co_await gathering.pause((gathering.size() * price_.decode + price_.rule) *
                             bytes);
  }

  // Changes of a copy count the same, whatever they were made of.
  double share_of(const SyncStep& step) const {
    return sends_gradients_ ? step.share : 1.0 / communicator_.size();
  }

  Communicator& communicator_;
  SyncPrice price_;
  RuleRun rule_;
  bool sends_gradients_;
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
