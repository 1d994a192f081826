// signSGD with majority vote (Bernstein, Zhao, Azizzadenesheli and Anandkumar,
// "signSGD with Majority Vote is Communication Efficient and Fault Tolerant",
// ICLR 2019): workers vote on the sign of each entry, and all step by what won.
#include <cmath>

#include "weft/comm/collective/all_reduce.h"
#include "weft/train/sync/whole_update.h"

namespace weft {
namespace {

class Majority : public SyncPolicy {
 public:
  Majority(const Options& options, const SyncContext& context)
      : communicator_(context.communicator),
        scale_(static_cast<float>(option<double>(options, "scale"))),
        least_(static_cast<float>(option<double>(options, "lead") *
                                  communicator_.size())),
        update_(context) {}

  Task<> exchange(Bucket& bucket, SyncStep) override {
    static const AllReduce kRing("ring");
    const std::span<float> votes = bucket.gradient();
    for (float& vote : votes) {
      vote = static_cast<float>((vote > 0) - (vote < 0));
    }
    co_await kRing.run(communicator_, dense(votes), bucket.text());
    for (float& sum : votes) {
      const bool is_won = sum != 0 && std::abs(sum) >= least_;
      sum = is_won ? std::copysign(scale_, sum) : 0.0f;
    }
  }

  void end_step(const SyncStep& step) override { update_.run(step); }

  std::vector<OwnedTensor> state() const override { return update_.state(); }
  std::string restore(const std::function<Tensor(const std::string&)>& read,
                      int) override {
    update_.restore(read);
    return "";
  }

  std::string text() const override {
    return "votes on the signs of gradients";
  }

 private:
  Communicator& communicator_;
  float scale_;
  float least_;  // lead in votes
  WholeUpdate update_;
};

std::optional<Refusal> majority_declines(const Options&,
                                         const SyncRecipe& recipe) {
  if (recipe.sparsify == "none" && recipe.codec == "none") return std::nullopt;
  return Refusal{"sparsifiers and codecs", "signs are what travels",
                 "leave sync.sparsify and sync.codec out"};
}

}  // namespace

void register_sync_policy_majority(SyncPolicyRegistry& policies) {
  policies.add(
      {.name = "majority",
       .summary = "workers vote on the sign of each entry",
       .options = {{"scale",
                    1.0,
                    "what each entry of the gradient becomes, by its sign",
                    {.least = 0, .is_open_below = true}},
                   {"lead",
                    0.0,
                    "share of the workers by which a sign must win, or the "
                    "entry stays",
                    {.least = 0, .most = 1}}},
       .declines = majority_declines,
       // A sign does not know how long the gradient was.
       .clips_first = [](const Options&, const SyncRecipe&) { return true; },
       .make = [](const Options& options,
                  const SyncContext& context) -> std::unique_ptr<SyncPolicy> {
         return std::make_unique<Majority>(options, context);
       }});
}

}  // namespace weft
