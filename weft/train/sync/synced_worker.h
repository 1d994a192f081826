// One of several workers: its part of each batch, gradients exchanged by the
// policy of the recipe while backward still computes others.
//
// Threads: caller synchronises; the network has a thread of its own.
#pragma once

#include <memory>

#include "weft/train/step/gradient_probe.h"
#include "weft/train/step/one_by_one.h"
#include "weft/train/step/private_noise.h"
#include "weft/train/step/step.h"
#include "weft/train/step/touched_parts.h"
#include "weft/train/step/worker.h"
#include "weft/train/sync/bucket_layout.h"
#include "weft/train/sync/drift.h"
#include "weft/train/sync/policy.h"
#include "weft/train/sync/worker_group.h"
#include "weft/train/sync/worker_state.h"

namespace weft {

// What private training makes of a worker's step.
struct PrivateSync {
  PrivateNoise noise;
  // Examples of this worker's part that are expected, where it adds noise of
  // its own before anything leaves it; nothing where noise is added to the sum
  // of all.
  std::optional<std::int64_t> own = {};
  // As PrivateWorker has it: without it, the description's step is private.
  std::optional<double> one_by_one_norm = {};
};

class SyncedWorker : public Worker {
 public:
  // Collective: workers whose initial weights are others take those of the
  // first, and all measure the network and agree on what is best for it where
  // the recipe says "auto". The group must outlive this.
  // Throws Error(kInvalidArgument) for a recipe whose [sync] makes no sense,
  // with the reason.
  // `description` has no optimizer, as the policy decides who updates what:
  // `optimizer` is given to it.
  // `computing` is what all workers of a simulated cluster are charged by, and
  // outlives this; null on a real network. `privacy` is of a recipe that
  // private_workers_decline() does not refuse.
  SyncedWorker(const StepDescription& description, const Optimizer& optimizer,
               const SyncRecipe& recipe, WorkerGroup& group,
               SimulatedComputing* computing = nullptr,
               const std::optional<PrivateSync>& privacy = {});
  ~SyncedWorker() override;

  int rank() const override { return group_.rank(); }
  int ranks() const override { return group_.size(); }
  WorkerTotals run(const Batch& batch, const WorkerStep& step) override;
  void reset_carried() override;
  MeasureSums total(const MeasureSums& own) override;
  void share_statistics() override { model_.share_statistics(); }
  const std::vector<NamedTensor>& state() const override { return state_; }
  // Throws Error(kInvalidArgument) on all workers if the copies of the model
  // have come apart.
  std::vector<NamedTensor> checkpoint() override {
    // A rank that only serves has no copy that anybody computes with.
    return model_.gather(*policy_, step_.number, roles_.is_worker(rank()));
  }
  std::optional<CheckpointFile> newest(
      const std::optional<std::filesystem::path>& own,
      std::string& note) override {
    return model_.newest(own, note);
  }
  std::string restore(const CheckpointFile& file) override {
    return model_.restore(file, *policy_);
  }
  std::optional<StepTraffic> traffic() const override { return traffic_; }
  std::vector<NamedTensor> gradients(const Batch& batch,
                                     const WorkerStep& step) override;
  double now() const override { return group_.network().now(); }
  std::string text() const override;
  void fail(const Error& error) override;

 private:
  void make_backward(const Call<SyncPolicyDef>& policy,
                     const Optimizer& optimizer, double clip_norm);
  // `common` are the options that all workers have alike.
  void make_policy(const SyncRecipe& settled, const Optimizer& optimizer,
                   double clip_norm, const StepOptions& common);
  void prioritize(const SyncRecipe& recipe, std::uint64_t seed);
  void find_unread();
  void gradient_is_there(std::size_t parameter);
  // A forward pass is about to read it.
  void wait_for(std::size_t parameter);
  void start_exchanges();
  // Waits for a bucket's exchange, if one is under way, and applies it.
  void settle(std::size_t bucket);
  // The same of all buckets, and ends their step.
  void settle_all();
  bool begin_step(const Batch& batch, const WorkerStep& step);
  void count(const Batch& batch, const WorkerStep& step);
  void take_totals(std::size_t votes, WorkerTotals& result);
  // Adds noise of this worker's own to what backward has left.
  void add_own_noise(std::int64_t step);
  // Sums `totals_`, beside the exchanges.
  AsyncEngine::Operation submit_totals();
  void compute(const Batch& batch, const WorkerStep& step);
  // Where in the batch of all workers this one's part begins.
  std::int64_t first_of(const Batch& batch) const;
  StepControls controls_of(const Batch& batch, const WorkerStep& step,
                           double weight) const;
  // The same on a virtual clock: computes at once, and charges for it.
  void compute_charged(const Batch& batch, const WorkerStep& step,
                       double weight);
  const StepPrice& price_of_step(const Batch& batch);
  // What `backward_` changes beside gradients.
  std::vector<NamedTensor> changed_by_runs() const;
  SyncPrice price_of_sync(const SyncRecipe& settled,
                          const Optimizer& optimizer);
  // What the gradients of this worker's part count by, so that their sum over
  // workers is the gradient of the mean over the whole batch.
  double weight_of(const Batch& batch, std::int64_t step);
  // This worker's share of the predictions of the whole batch. Collective.
  double share_of(const Batch& batch, std::int64_t step);
  // The recipe with what "auto" stands for.
  SyncRecipe settle(SyncRecipe recipe);

  WorkerGroup& group_;
  Roles roles_;
  SimulatedComputing* computing_;
  StepDescription description_;
  WorkerState model_;
  BucketLayout layout_;
  // Those of a step, where the order is another in each; else null.
  std::function<std::vector<int>(std::int64_t step)> priorities_of_step_;
  std::vector<std::size_t> unread_;  // buckets with one that no step reads
  std::string chosen_;               // how "auto" was settled, for people
  // Made when gradients have memory. Where workers share the model it is the
  // whole step of one that is alone, of which they are told what it touches.
  std::optional<Step> backward_;
  std::optional<TouchedParts> touched_;
  std::optional<OneByOne> one_by_one_;
  std::optional<GradientProbe> probe_;  // made when it is asked first
  std::unique_ptr<SyncPolicy> policy_;
  std::vector<NamedTensor> state_;
  std::optional<DriftMeter> drift_meter_;
  std::int64_t measure_every_;
  std::optional<PrivateSync> privacy_;
  bool is_sparsified_;
  bool sends_gradients_;
  bool overlaps_;
  bool overlaps_forward_;

  SyncStep step_;
  MeasureSums measured_;              // of its part
  std::vector<std::size_t> missing_;  // gradients, by bucket
  std::size_t next_bucket_ = 0;       // whose exchange starts next
  // One for each bucket, null where none is under way. They are of
  // `exchanged_in_`, which is the step before while a forward pass overtakes
  // it.
  std::vector<AsyncEngine::Operation> exchanges_;
  SyncStep exchanged_in_;
  bool has_exchanged_ = false;  // and not ended that step
  double waited_ = 0;           // seconds in this step, while it computed
  // What this worker has measured since workers last met, and whether it was
  // asked to end. Where it has noise of its own it tells no measures, which
  // have none.
  std::vector<double> totals_;
  MeasureSums untold_;
  std::optional<StepTraffic> traffic_;
};

}  // namespace weft
