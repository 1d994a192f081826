// Local SGD: workers train copies of their own for some steps, then meet and go
// on from the mean of all copies (Stich, "Local SGD Converges Fast and
// Communicates Little", ICLR 2019, algorithm 1; periodic averaging in Wang and
// Joshi, "Adaptive Communication Strategies to Achieve the Best Error-Runtime
// Trade-off in Local-Update SGD", MLSys 2019).
//
// What travels is how far each copy is from where all began, through the
// exchange that gradients would take: sparsified and encoded with a memory of
// what was left out, if the recipe says so.
#include <algorithm>

#include "weft/comm/collective/all_reduce.h"
#include "weft/train/sync/exchange.h"
#include "weft/train/sync/rank_memory.h"
#include "weft/train/sync/whole_update.h"

namespace weft {
namespace {

constexpr const char* kAveraged = "averaged";
constexpr const char* kReset = "reset";
constexpr const char* kKept = "kept";

bool is_number(const Tensor& tensor) { return tensor.dtype() == DType::kF32; }

class LocalSgd : public SyncPolicy {
 public:
  LocalSgd(const Options& options, const SyncContext& context)
      : communicator_(context.communicator),
        network_(context.network),
        optimizer_(context.optimizer),
        period_(option<std::int64_t>(options, "period")),
        momentum_(option<std::string>(options, "momentum")),
        buckets_(context.buckets),
        trainable_(context.trainable.begin(), context.trainable.end()),
        exchange_(make_exchange(context, network_text_)),
        update_(context) {}

  bool meets(const SyncStep& step) const override {
    return step.must_meet || (step.number + 1) % period_ == 0;
  }

  bool exchanges(const SyncStep& step) const override { return meets(step); }

  void prepare(const SyncStep& step) override {
    // A worker without examples stays where it is, and is one of the mean.
    const bool moves = step.examples > 0;
    if (moves && began_.empty()) remember();
    if (moves) update_.compute(step);
    // Others compute while this one is charged, and by then each has gone back.
    if (meets(step)) go_back();
    if (moves) update_.charge();
  }

  Task<> exchange(Bucket& bucket, SyncStep step) override {
    return exchange_->sum(bucket, step);
  }

  void end_step(const SyncStep&) override {
    for_each_member([&](std::span<float> mean, std::size_t parameter) {
      const auto copy = trainable_[parameter].tensor.span<float>();
      for (std::size_t i = 0; i < copy.size(); ++i) copy[i] += mean[i];
    });
    if (momentum_ == kReset) reset_slots();
    if (momentum_ == kAveraged) average_slots();
  }

  std::vector<OwnedTensor> state() const override {
    std::vector<OwnedTensor> result =
        rank_memory(exchange_->memory(), communicator_);
    for (OwnedTensor& kept : exchange_->state()) {
      result.push_back(std::move(kept));
    }
    for (OwnedTensor& slot : update_.state()) result.push_back(std::move(slot));
    if (momentum_ != kKept) return result;
    // The first worker's slots have the names that they have anywhere, so that
    // others can go on with them.
    for (int rank = 1; rank < communicator_.size(); ++rank) {
      for (const NamedTensor& slot : update_.slots()) {
        result.push_back(
            {name_of(rank, slot.name), slot.tensor.type(), rank,
             rank == communicator_.rank() ? slot.tensor : Tensor()});
      }
    }
    return result;
  }

  std::string restore(const std::function<Tensor(const std::string&)>& read,
                      int ranks) override {
    update_.restore(read);
    if (momentum_ == kKept) {
      for (const NamedTensor& slot : update_.slots()) {
        const Tensor own = read(name_of(communicator_.rank(), slot.name));
        // One that joins goes on with the first worker's.
        if (own.is_defined()) slot.tensor.copy_from(own);
      }
    }
    // A checkpoint is saved where all are at one.
    began_.clear();
    const std::string note = exchange_->restore(read);
    return restore_rank_memory(exchange_->memory(), communicator_, read,
                               ranks) +
           (note.empty() ? "" : "\n" + note);
  }

  RuleFigures rule_figures() const override {
    return exchange_->rule_figures();
  }

  std::string text() const override {
    return fmt::format("local SGD, meeting every {} step{}, {}{}", period_,
                       period_ == 1 ? "" : "s", exchange_->text(),
                       network_text_);
  }

 private:
  static std::string name_of(int rank, const std::string& slot) {
    return fmt::format("sync.{}.{}", rank, slot);
  }

  // Calls `body` with what lies in the bucket of each parameter.
  template <class Body>
  void for_each_member(const Body& body) {
    for (const Bucket& bucket : buckets_) {
      for (const BucketMember& member : bucket.members()) {
        body(part_of(bucket.gradient(), member), member.parameter);
      }
    }
  }

  void remember() {
    for (const NamedTensor& named : trainable_) {
      began_.push_back(named.tensor.clone());
    }
  }

  // Leaves in the buckets how far the copy has come, and the copy where all
  // began: there is one of the two in memory while they travel.
  void go_back() {
    const float share = 1.0f / static_cast<float>(communicator_.size());
    if (began_.empty()) {
      for (const Bucket& bucket : buckets_) {
        std::ranges::fill(bucket.gradient(), 0.0f);
      }
      return;
    }
    for_each_member([&](std::span<float> travels, std::size_t parameter) {
      const auto copy = trainable_[parameter].tensor.span<float>();
      const auto began = began_[parameter].span<float>();
      for (std::size_t i = 0; i < copy.size(); ++i) {
        travels[i] = (copy[i] - began[i]) * share;
        copy[i] = began[i];
      }
    });
    began_.clear();
  }

  // As at the beginning of a training from here.
  void reset_slots() {
    const auto reset = [&](const std::string& name, const Tensor& first) {
      const auto slot =
          std::ranges::find(update_.slots(), name, &NamedTensor::name);
      WEFT_CHECK(slot != update_.slots().end());
      slot->tensor.copy_from(first);
    };
    for (const NamedTensor& named : trainable_) {
      for (const Slot& slot :
           optimizer_.slots({named.name, named.tensor.type()})) {
        reset(slot_name(slot, named.name), initial_slot(slot, named.tensor));
      }
    }
    for (const Slot& slot : optimizer_.shared_slots()) {
      reset(slot_name(slot), initial_slot(slot));
    }
  }

  // Counters are the same everywhere and stay.
  void average_slots() {
    const float share = 1.0f / static_cast<float>(communicator_.size());
    for (const NamedTensor& slot : update_.slots()) {
      if (!is_number(slot.tensor)) continue;
      for (float& value : slot.tensor.span<float>()) value *= share;
      network_.wait(network_.submit([&] {
        static const AllReduce kHalving("rabenseifner");
        return kHalving.run(communicator_, dense(slot.tensor.span<float>()),
                            slot.name);
      }));
    }
  }

  Communicator& communicator_;
  AsyncEngine& network_;
  const Optimizer& optimizer_;
  std::int64_t period_;
  std::string momentum_;
  std::span<Bucket> buckets_;
  std::vector<NamedTensor> trainable_;
  // Where all copies were when workers last met, once this one has left it.
  std::vector<Tensor> began_;
  std::string network_text_;  // for people
  std::unique_ptr<Exchange> exchange_;
  WholeUpdate update_;
};

std::optional<Refusal> local_sgd_declines(const Options&,
                                          const SyncRecipe& recipe) {
  if (recipe.momentum_correction > 0) {
    return Refusal{"momentum_correction",
                   "each worker's optimizer has moved its copy already",
                   "leave it out; an optimizer with momentum has it"};
  }
  if (recipe.memory == "updates") {
    return Refusal{"memory 'updates'",
                   "what travels are changes of the model, not gradients",
                   "memory = \"gradients\""};
  }
  return std::nullopt;
}

}  // namespace

void register_sync_policy_local_sgd(SyncPolicyRegistry& policies) {
  policies.add(
      {.name = "local_sgd",
       .summary = "workers train copies, and meet now and then at their mean",
       .options = {{.name = "period",
                    .value = std::int64_t{8},
                    .summary = "after which workers meet; they also do at the "
                               "end of an epoch, and before a checkpoint",
                    .range = {.least = 1, .most = 1 << 30},
                    .unit = "steps"},
                   {.name = "momentum",
                    .value = std::string(kAveraged),
                    .summary = "what becomes of the optimizers' memories then",
                    .choices = {kAveraged, kReset, kKept}}},
       .uses_collective = true,
       .sends_gradients = false,
       .declines = local_sgd_declines,
       .make = [](const Options& options,
                  const SyncContext& context) -> std::unique_ptr<SyncPolicy> {
         return std::make_unique<LocalSgd>(options, context);
       }});
}

}  // namespace weft
