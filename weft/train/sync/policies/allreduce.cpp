// Every worker gets the sum of all gradients and updates its own copy of the
// model: data-parallel training as in Li et al., "PyTorch Distributed", VLDB
// 2020. All copies stay equal, bit for bit.
#include "weft/train/step/step.h"
#include "weft/train/sync/exchange.h"
#include "weft/train/sync/rank_memory.h"

namespace weft {
namespace {

// The update of the whole model by the sums in the buckets.
StepDescription update_of(const SyncContext& context) {
  std::vector<Tensor> gradients(context.trainable.size());
  for (const Bucket& bucket : context.buckets) {
    for (const BucketMember& member : bucket.members()) {
      gradients[member.parameter] = bucket.gradient_of(member);
    }
  }
  StepDescription update(context.optimizer, context.trainable,
                         context.clip_norm);
  update.set_gradients(gradients);
  return update;
}

// `said` is what there is to say of the network, where it was looked at.
std::unique_ptr<Exchange> make_exchange(const SyncContext& context,
                                        std::string& said) {
  const ExchangeKind kind = exchange_kind(context.recipe);
  // Messages go from each to each whatever the network is, so it is not
  // measured.
  if (kind == ExchangeKind::kGather) return make_gather_exchange(context);
  Network network = network_of(context.communicator, context.network,
                               context.recipe.topology);
  said = ", network " + to_string(network.topology);
  if (!network.note.empty()) said += " (" + network.note + ")";
  switch (kind) {
    case ExchangeKind::kSharedIndices:
      return make_shared_indices_exchange(context, std::move(network));
    case ExchangeKind::kStream:
      return make_stream_exchange(context, std::move(network));
    case ExchangeKind::kDense:
    case ExchangeKind::kGather:
      break;
  }
  return make_dense_exchange(context, std::move(network));
}

class AllReducePolicy : public SyncPolicy {
 public:
  explicit AllReducePolicy(const SyncContext& context)
      : communicator_(context.communicator),
        // make_exchange() writes into network_, which is declared before.
        exchange_(make_exchange(context, network_)),
        description_(update_of(context)),
        slots_(description_.tensors(EntryRole::kSlot)),
        update_(description_, StepCut::kUpdate),
        buckets_(context.buckets.size()) {}

  Task<> exchange(Bucket& bucket, SyncStep step) override {
    // Parameters are left alone until apply(), as backward still reads them.
    return exchange_->sum(bucket, step);
  }

  void apply(const SyncStep& step) override {
    update_.run({}, {.lr = step.lr, .number = step.number});
  }

  // The optimizer's state is the same everywhere; the first worker saves it.
  std::vector<OwnedTensor> state() const override {
    std::vector<OwnedTensor> result =
        rank_memory(exchange_->memory(), communicator_);
    for (const NamedTensor& slot : slots_) {
      result.push_back({slot.name, slot.tensor.type(), 0, slot.tensor});
    }
    return result;
  }

  std::string restore(const std::function<Tensor(const std::string&)>& read,
                      int ranks) override {
    std::string note =
        restore_rank_memory(exchange_->memory(), communicator_, read, ranks);
    for (const NamedTensor& slot : slots_) {
      const Tensor saved = read(slot.name);
      if (!saved.is_defined() || !(saved.type() == slot.tensor.type())) {
        throw Error(ErrorCode::kDataLoss, "checkpoint", "has no {} called '{}'",
                    to_string(slot.tensor.type()), slot.name)
            .hint("is this the checkpoint of another recipe?");
      }
      slot.tensor.copy_from(saved);
    }
    return note;
  }

  std::string text() const override {
    return fmt::format("{}, {} bucket{}{}", exchange_->text(), buckets_,
                       buckets_ == 1 ? "" : "s", network_);
  }

 private:
  Communicator& communicator_;
  std::string network_;  // for people
  std::unique_ptr<Exchange> exchange_;
  StepDescription description_;
  std::vector<NamedTensor> slots_;
  Step update_;
  std::size_t buckets_;
};

}  // namespace

void register_sync_policy_allreduce(SyncPolicyRegistry& policies) {
  policies.add(
      {.name = "allreduce",
       .summary = "every worker gets the sum of all gradients",
       .check =
           [](const SyncRecipe& recipe) {
             check_compression(recipe);
             exchange_kind(recipe);
           },
       // What is sparsified is clipped before, as in Deep Gradient
       // Compression; else the sum is clipped, as one worker would.
       .clips_first =
           [](const SyncRecipe& recipe) { return recipe.sparsify != "none"; },
       .make = [](const SyncContext& context) -> std::unique_ptr<SyncPolicy> {
         return std::make_unique<AllReducePolicy>(context);
       }});
}

}  // namespace weft
