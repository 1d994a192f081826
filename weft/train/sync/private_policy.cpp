#include "weft/train/sync/private_policy.h"

#include "weft/train/sync/aggregation_rule.h"

namespace weft {
namespace {

class NoisyPolicy final : public SyncPolicy {
 public:
  NoisyPolicy(std::unique_ptr<SyncPolicy> policy, const PrivateNoise& noise)
      : policy_(std::move(policy)), noise_(noise) {}

  bool meets(const SyncStep& step) const override {
    return policy_->meets(step);
  }
  bool exchanges(const SyncStep& step) const override {
    return policy_->exchanges(step);
  }
  void prepare(const SyncStep& step) override { policy_->prepare(step); }
  Task<> exchange(Bucket& bucket, SyncStep step) override {
    return policy_->exchange(bucket, step);
  }
  void apply(Bucket& bucket, const SyncStep& step) override {
    for (const BucketMember& member : bucket.members()) {
      noise_.add(part_of(bucket.gradient(), member), step.number,
                 member.parameter);
    }
    policy_->apply(bucket, step);
  }
  void end_step(const SyncStep& step) override { policy_->end_step(step); }
  std::vector<double> votes(const SyncStep& step) override {
    return policy_->votes(step);
  }
  std::string count_votes(const SyncStep& step,
                          std::span<const double> sums) override {
    return policy_->count_votes(step, sums);
  }
  Figures figures() const override { return policy_->figures(); }
  std::vector<OwnedTensor> state() const override { return policy_->state(); }
  std::string restore(const std::function<Tensor(const std::string&)>& read,
                      int ranks) override {
    return policy_->restore(read, ranks);
  }
  std::string text() const override { return policy_->text(); }

 private:
  std::unique_ptr<SyncPolicy> policy_;
  PrivateNoise noise_;
};

}  // namespace

std::optional<Refusal> private_workers_decline(const SyncRecipe& recipe) {
  const std::string& policy = policy_of(recipe).def->name;
  if (policy != "allreduce") {
    return Refusal{"sync.policy " + in_quotes(policy),
                   "noise is added once to the sum of all workers' gradients, "
                   "and nobody has that sum there",
                   "sync.policy = \"allreduce\""};
  }
  if (!is_mean(recipe)) {
    return Refusal{"sync.rule " + in_quotes(recipe.rule),
                   "how far one example can move what it makes of the workers' "
                   "sums is not bounded by clip_norm",
                   "sync.rule = \"mean\""};
  }
  for (const std::string* codec : {&recipe.sparsify, &recipe.codec}) {
    if (*codec == "none") continue;
    return Refusal{in_quotes(*codec),
                   "what it leaves out or rounds is chosen by the examples "
                   "before there is noise, and an example can move it by more "
                   "than clip_norm",
                   "sync.sparsify and sync.codec = \"none\""};
  }
  if (recipe.slices) {
    return Refusal{"sync.slices", "noise is drawn for whole parameters",
                   "leave it out"};
  }
  return std::nullopt;
}

std::unique_ptr<SyncPolicy> with_noise(std::unique_ptr<SyncPolicy> policy,
                                       const PrivateNoise& noise) {
  return std::make_unique<NoisyPolicy>(std::move(policy), noise);
}

}  // namespace weft
