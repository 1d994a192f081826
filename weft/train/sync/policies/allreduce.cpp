// Every worker gets the sum of all gradients and updates its own copy of the
// model: data-parallel training as in Li et al., "PyTorch Distributed", VLDB
// 2020. All copies stay equal, bit for bit.
#include <numeric>

#include "weft/comm/collective/chooser.h"
#include "weft/train/sync/auto_codec.h"
#include "weft/train/sync/exchange.h"
#include "weft/train/sync/rank_memory.h"
#include "weft/train/sync/turns.h"
#include "weft/train/sync/whole_update.h"

namespace weft {
namespace {

// It runs on the network's thread, to which communicators belong.
Task<> make_turns(const SyncContext& context,
                  std::optional<Communicator>& group,
                  std::unique_ptr<Turns>& turns) {
  std::vector<int> all(static_cast<std::size_t>(context.communicator.size()));
  std::iota(all.begin(), all.end(), 0);
  group.emplace(context.communicator.split(all));
  turns =
      std::make_unique<Turns>(context.communicator.split(all),
                              context.buckets.size(), context.recipe.credit);
  co_return;
}

class AllReducePolicy : public SyncPolicy {
 public:
  explicit AllReducePolicy(const SyncContext& context)
      : communicator_(context.communicator),
        update_(context),
        buckets_(context.buckets.size()),
        credit_(context.recipe.credit) {
    if (credit_ == 0) {
      exchange_ = make_exchange(context, network_);
      return;
    }
    // Collectives begin by turns, and so in no order with operations that are
    // entered elsewhere: they have a group of their own.
    context.network.wait(context.network.submit(
        [&] { return make_turns(context, group_, turns_); }));
    exchange_ = make_exchange(context.among(*group_), network_);
  }

  Task<> exchange(Bucket& bucket, SyncStep step) override {
    // Parameters are left alone until apply(), as backward still reads them.
    Task<> sum = exchange_->sum(bucket, step);
    return turns_ == nullptr ? std::move(sum)
                             : turns_->pass(bucket, std::move(sum));
  }

  void apply(Bucket& bucket, const SyncStep& step) override {
    update_.run(bucket, step);
  }
  void end_step(const SyncStep& step) override { update_.run(step); }

  std::vector<OwnedTensor> state() const override {
    std::vector<OwnedTensor> result =
        rank_memory(exchange_->memory(), communicator_);
    for (OwnedTensor& kept : exchange_->state()) {
      result.push_back(std::move(kept));
    }
    for (OwnedTensor& slot : update_.state()) result.push_back(std::move(slot));
    return result;
  }

  std::string restore(const std::function<Tensor(const std::string&)>& read,
                      int ranks) override {
    update_.restore(read);
    const std::string note = exchange_->restore(read);
    return restore_rank_memory(exchange_->memory(), communicator_, read,
                               ranks) +
           (note.empty() ? "" : "\n" + note);
  }

  Figures figures() const override { return exchange_->figures(); }

  std::string text() const override {
    return fmt::format(
        "{}, {} bucket{}{}{}", exchange_->text(), buckets_,
        buckets_ == 1 ? "" : "s",
        credit_ == 0 ? ""
                     : fmt::format(" by turns, {} bytes at a time", credit_),
        network_);
  }

 private:
  Communicator& communicator_;
  std::string network_;                // for people
  std::optional<Communicator> group_;  // by turns: that sums are in
  std::unique_ptr<Turns> turns_;       // null: each begins when it can
  std::unique_ptr<Exchange> exchange_;
  WholeUpdate update_;
  std::size_t buckets_;
  std::int64_t credit_;
};

double wire_seconds(const CodecSpeed& codec, const Topology& network,
                    double sent) {
  if (codec.is_added_on_its_way) {
    return AllReduceChooser(network)
        .candidates(static_cast<std::size_t>(sent))
        .front()
        .seconds;
  }
  // Everyone's message crosses everyone's card.
  const Level level = flat_level(network);
  return level.latency + (level.size - 1) * sent * level.seconds_per_byte;
}

// What is gathered, everyone decodes from everyone.
double allreduce_seconds(const Options&, const CodecSpeed& codec,
                         const Topology& network, double bytes) {
  const double decoded = codec.is_added_on_its_way ? 1 : network.ranks();
  return bytes * (codec.encode_seconds_per_byte +
                  decoded * codec.decode_seconds_per_byte) +
         wire_seconds(codec, network, codec.ratio * bytes);
}

}  // namespace

void register_sync_policy_allreduce(SyncPolicyRegistry& policies) {
  policies.add({.name = "allreduce",
                .summary = "every worker gets the sum of all gradients",
                .uses_collective = true,
                .takes_credit = true,
                .applies_each = true,
                .leaves_sums = true,
                // What is sparsified is clipped before, as in Deep Gradient
                // Compression; else the sum is clipped, as one worker would.
                .clips_first =
                    [](const Options&, const SyncRecipe& recipe) {
                      return recipe.sparsify != "none";
                    },
                .seconds = allreduce_seconds,
                .make = [](const Options&, const SyncContext& context)
                    -> std::unique_ptr<SyncPolicy> {
                  return std::make_unique<AllReducePolicy>(context);
                }});
}

}  // namespace weft
