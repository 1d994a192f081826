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

// A number of workers that no quorum is asked for by accident.
constexpr int kMany = 1 << 20;

constexpr const char* kOrMessages = "or privacy.noise_on = \"messages\"";

// What is between the clipped gradients and their sum, where noise comes after
// it.
std::optional<Refusal> between_declines(const SyncRecipe& recipe) {
  if (!is_mean(recipe)) {
    return Refusal{"sync.rule " + in_quotes(recipe.rule),
                   "how far one example can move what it makes of the workers' "
                   "sums is not bounded by clip_norm",
                   fmt::format("sync.rule = \"mean\", {}", kOrMessages)};
  }
  for (const std::string* codec : {&recipe.sparsify, &recipe.codec}) {
    if (*codec == "none") continue;
    return Refusal{in_quotes(*codec),
                   "what it leaves out or rounds is chosen by the examples "
                   "before there is noise, and an example can move it by more "
                   "than clip_norm",
                   fmt::format("sync.sparsify and sync.codec = \"none\", {}",
                               kOrMessages)};
  }
  return std::nullopt;
}

std::optional<Refusal> sum_declines(const SyncRecipe& recipe) {
  const std::string& policy = policy_of(recipe).def->name;
  if (policy != "allreduce") {
    return Refusal{"sync.policy " + in_quotes(policy),
                   "noise is added once to the sum of all workers' gradients, "
                   "and workers do not have that sum there",
                   "sync.policy = \"allreduce\", or privacy.noise_on = "
                   "\"shares\" or \"messages\""};
  }
  return between_declines(recipe);
}

std::optional<Refusal> shares_decline(const SyncRecipe& recipe) {
  const std::string& policy = policy_of(recipe).def->name;
  if (policy != "allreduce" && policy != "server") {
    return Refusal{"sync.policy " + in_quotes(policy),
                   "it uses what a worker sends without the others', which has "
                   "only a share of the noise",
                   "sync.policy = \"allreduce\" or \"server\", or "
                   "privacy.noise_on = \"messages\""};
  }
  if (auto refusal = between_declines(recipe)) {
    // There is noise, but in each message too little for it to be private.
    refusal->because =
        "it works on single messages, which have only a share of the noise";
    return refusal;
  }
  return std::nullopt;
}

// What workers tell of their sums before there is noise in them.
std::optional<Refusal> before_noise_declines(const Recipe& recipe) {
  const Call<SyncPolicyDef> policy = policy_of(recipe.sync);
  if (policy.def->tells_losses) {
    return Refusal{"sync.policy " + in_quotes(policy.def->name),
                   "its workers tell each other their losses, which have no "
                   "noise",
                   "sync.policy = \"local_sgd\""};
  }
  if (policy.def->shares_model) {
    return Refusal{"sync.policy " + in_quotes(policy.def->name),
                   "its workers step by their gradients as they compute them, "
                   "and so before there is noise",
                   "sync.policy = \"async_server\""};
  }
  if (recipe.privacy.rows > 0) {
    return Refusal{"privacy.rows",
                   "the parts of a batch travel one by one, and noise comes "
                   "with the last",
                   "privacy.rows = 0; privacy.per_example = \"one by one\" "
                   "takes little memory, too"};
  }
  const bool clips_first = policy.def->clips_first != nullptr &&
                           policy.def->clips_first(policy.options, recipe.sync);
  if (recipe.optimizer.clip_norm > 0 && clips_first) {
    return Refusal{
        "optimizer.clip_norm",
        "with this policy a worker clips its sum before it sends it, "
        "and so before there is noise",
        "privacy.clip_norm bounds what an example can do"};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> private_workers_decline(const Recipe& recipe) {
  const SyncRecipe& sync = recipe.sync;
  if (sync.slices) {
    return Refusal{"sync.slices", "noise is drawn for whole parameters",
                   "leave it out"};
  }
  const Call<SyncPolicyDef> policy = policy_of(sync);
  if (policy.def->fewest_contributions != nullptr &&
      policy.def->fewest_contributions(policy.options, kMany) < kMany) {
    return Refusal{"a quorum",
                   "who comes in time is chance, and a step that is done again "
                   "would tell something else under the same noise",
                   "leave quorum out"};
  }
  if (recipe.privacy.noise_on == kNoiseOnSum) return sum_declines(sync);
  if (auto refusal = before_noise_declines(recipe)) return refusal;
  return recipe.privacy.noise_on == kNoiseInShares ? shares_decline(sync)
                                                   : std::nullopt;
}

std::unique_ptr<SyncPolicy> with_noise(std::unique_ptr<SyncPolicy> policy,
                                       const PrivateNoise& noise) {
  return std::make_unique<NoisyPolicy>(std::move(policy), noise);
}

}  // namespace weft
