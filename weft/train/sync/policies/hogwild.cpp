// Threads over one model, without waiting for each other: each worker reads the
// model, computes the gradient of its part of the batch there, and adds the
// update to the model, whatever the others have made of it meanwhile (Niu,
// Recht, Re, Wright, "Hogwild!", NeurIPS 2011; Alistarh, De Sa, Konstantinov,
// "The Convergence of Stochastic Gradient Descent in Asynchronous Shared
// Memory", PODC 2018).
//
// A worker trains a copy as one that is alone does, and what has changed is
// brought into the model: of tables that are only looked up the rows that its
// batch names, which are also all that it reads of them.
//
// A worker's update counts by one over their number, so that a step of all
// moves the model as far as a step of workers that wait.
#include <algorithm>
#include <cmath>

#include "weft/comm/collective/rooted.h"
#include "weft/train/sync/shared_model.h"

namespace weft {
namespace {

class Hogwild : public SyncPolicy {
 public:
  Hogwild(const Options& options, const SyncContext& context)
      : communicator_(context.communicator),
        network_(context.network),
        variant_(option<std::string>(options, "variant")),
        trainable_(context.trainable.begin(), context.trainable.end()),
        whole_(whole_parameters(trainable_)),
        after_(model_values(trainable_)),
        before_(trainable_.size()) {
    // Groups of parameters may have optimizers of their own.
    for (const NamedTensor& named : trainable_) {
      const auto slots =
          context.optimizer.slots({named.name, named.tensor.type()});
      if (slots.empty()) continue;
      throw refused("sync.policy", "'hogwild'",
                    {"the optimizer's " + slot_name(slots[0], named.name),
                     "workers that add to one model at any moment would tear "
                     "it apart",
                     "optimizer.name = \"sgd\" in all groups"});
    }
    // Nobody needs the memory of gradients otherwise.
    for (const Bucket& bucket : context.buckets) {
      for (const BucketMember& member : bucket.members()) {
        before_[member.parameter] = part_of(bucket.gradient(), member);
      }
    }
    model_ = join_shared_model(context, concurrent::update_kind(variant_));
  }

  bool meets(const SyncStep& step) const override { return step.must_meet; }
  bool exchanges(const SyncStep& step) const override { return meets(step); }

  void begin(const SyncStep&, std::span<const ParameterPart> parts) override {
    // Who has failed has left the network, where the reason is heard.
    if (model_->has_stopped()) wait_for_all();
    parts_.assign(parts.begin(), parts.end());
    seen_ = model_->read(parts_, before_);
    for (const ParameterPart& part : parts_) {
      std::ranges::copy(part.of(before_[part.parameter]),
                        part.of(after_[part.parameter]).begin());
    }
  }

  // Its copy has been trained.
  void prepare(const SyncStep& step) override {
    staleness_ = kNotMeasured;
    if (step.examples == 0) return;
    for (const ParameterPart& part : parts_) take_share(part);
    staleness_ =
        static_cast<double>(model_->replace(parts_, before_, after_) - seen_);
  }

  // Nothing travels.
  Task<> exchange(Bucket&, SyncStep) override { co_return; }

  // All have added by now; none goes on before all have read.
  void end_step(const SyncStep&) override {
    wait_for_all();
    model_->read(whole_, after_);
    wait_for_all();
  }

  Figures figures() const override { return {{"staleness", staleness_}}; }

  std::vector<OwnedTensor> state() const override { return {}; }

  std::string restore(const std::function<Tensor(const std::string&)>&,
                      int) override {
    if (communicator_.rank() == 0) model_->write(after_);
    wait_for_all();
    return "";
  }

  std::string text() const override {
    return fmt::format(
        "one model in shared memory, {} updates{}", variant_,
        communicator_.transport().is_simulated()
            ? ""
            : "; no two runs of several workers give the same bits");
  }

 private:
  // Leaves of an update what it counts by.
  void take_share(const ParameterPart& part) {
    const float rest = 1 - 1 / static_cast<float>(communicator_.size());
    const auto before = part.of(before_[part.parameter]);
    const auto after = part.of(after_[part.parameter]);
    bool is_number = true;
    for (std::size_t i = 0; i < after.size(); ++i) {
      after[i] -= (after[i] - before[i]) * rest;
      is_number &= std::isfinite(after[i]);
    }
    if (!is_number) fail(trainable_[part.parameter].name);
  }

  // Nothing of it has been added, and nobody adds more.
  [[noreturn]] void fail(const std::string& parameter) {
    model_->stop();
    throw Error(ErrorCode::kNumeric, "hogwild",
                "rank {}: the update of {} is no number", communicator_.rank(),
                parameter);
  }

  void wait_for_all() {
    network_.wait(network_.submit([&] {
      return barrier(communicator_.open({"barrier", "hogwild"}));
    }));
  }

  Communicator& communicator_;
  AsyncEngine& network_;
  std::string variant_;
  std::vector<NamedTensor> trainable_;
  std::vector<ParameterPart> whole_;
  ModelValues after_;   // the worker's copy
  ModelValues before_;  // what of it was read
  std::shared_ptr<SharedModel> model_;
  std::vector<ParameterPart> parts_;  // that the step reaches
  std::uint64_t seen_ = 0;            // updates that the copy has
  double staleness_ = kNotMeasured;
};

std::optional<Refusal> hogwild_declines(const Options&,
                                        const SyncRecipe& recipe) {
  constexpr const char* kBecause =
      "workers add to one model in their memory, and nothing travels";
  const SyncRecipe plain;
  if (recipe.sparsify != plain.sparsify || recipe.codec != plain.codec) {
    return Refusal{"sparsifiers and codecs", kBecause,
                   "leave sync.sparsify and sync.codec out"};
  }
  if (recipe.memory != plain.memory) {
    return Refusal{"memory " + in_quotes(recipe.memory), kBecause,
                   "leave sync.memory out"};
  }
  if (recipe.slices || recipe.order != plain.order) {
    return Refusal{"slices and orders", kBecause,
                   "leave sync.slices and sync.order out"};
  }
  return std::nullopt;
}

}  // namespace

void register_sync_policy_hogwild(SyncPolicyRegistry& policies) {
  policies.add(
      {.name = "hogwild",
       .summary = "threads add to one model, and do not wait for each other",
       .options = {{.name = "variant",
                    .value = std::string("hogwild"),
                    .summary =
                        "what becomes of an addition that another meets: "
                        "it may be lost, it is atomic, or it waits for "
                        "a lock of the entry's group, or of all",
                    .choices = {"hogwild", "atomic", "striped", "locked"}}},
       .sends_gradients = false,
       .shares_model = true,
       .is_repeatable = false,
       .declines = hogwild_declines,
       .make = [](const Options& options,
                  const SyncContext& context) -> std::unique_ptr<SyncPolicy> {
         return std::make_unique<Hogwild>(options, context);
       }});
}

}  // namespace weft
