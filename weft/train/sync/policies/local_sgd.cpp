// Local SGD: workers train copies of their own for some steps, then meet and go
// on from the mean of all copies (Stich, "Local SGD Converges Fast and
// Communicates Little", ICLR 2019, algorithm 1; periodic averaging in Wang and
// Joshi, "Adaptive Communication Strategies to Achieve the Best Error-Runtime
// Trade-off in Local-Update SGD", MLSys 2019).
#include "weft/train/sync/local_copies.h"

namespace weft {
namespace {

class LocalSgd : public SyncPolicy {
 public:
  LocalSgd(const Options& options, const SyncContext& context)
      : period_(option<std::int64_t>(options, "period")),
        copies_(options, context) {}

  bool meets(const SyncStep& step) const override {
    return step.must_meet || (step.number + 1) % period_ == 0;
  }
  bool exchanges(const SyncStep& step) const override {
    return copies_.has_others() && meets(step);
  }
  void prepare(const SyncStep& step) override {
    copies_.prepare(step, exchanges(step));
  }
  Task<> exchange(Bucket& bucket, SyncStep step) override {
    return copies_.exchange(bucket, step);
  }
  void end_step(const SyncStep& step) override { copies_.end_step(step); }

  std::vector<OwnedTensor> state() const override { return copies_.state(); }
  std::string restore(const std::function<Tensor(const std::string&)>& read,
                      int ranks) override {
    return copies_.restore(read, ranks);
  }

  Figures figures() const override { return copies_.figures(); }
  std::string text() const override {
    return fmt::format("local SGD, meeting every {} step{}, {}", period_,
                       period_ == 1 ? "" : "s", copies_.text());
  }

 private:
  std::int64_t period_;
  LocalCopies copies_;
};

std::vector<OptionSpec> local_sgd_options() {
  return LocalCopies::options(
      {{.name = "period",
        .value = std::int64_t{8},
        .summary = "after which workers meet; they also do at the end of an "
                   "epoch, and before a checkpoint",
        .range = {.least = 1, .most = 1 << 30},
        .unit = "steps"}});
}

}  // namespace

void register_sync_policy_local_sgd(SyncPolicyRegistry& policies) {
  policies.add(
      {.name = "local_sgd",
       .summary = "workers train copies, and meet now and then at their mean",
       .options = local_sgd_options(),
       .uses_collective = true,
       .sends_gradients = false,
       .declines = LocalCopies::declines,
       .make = [](const Options& options,
                  const SyncContext& context) -> std::unique_ptr<SyncPolicy> {
         return std::make_unique<LocalSgd>(options, context);
       }});
}

}  // namespace weft
