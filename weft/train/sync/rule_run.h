// An aggregation rule at work in a run: contributions of a bucket come in, what
// the rule makes of them goes into the bucket. A rule that looks at whole
// gradients waits here until all buckets are measured; where each has an owner,
// the owners tell each other what they have measured, a few numbers a bucket.
//
// All add the same numbers in the order of buckets, so that they decide the
// same, to the bit, by whatever number of owners.
//
// Threads: tasks of the network's thread; state() and restore() while none is
// under way.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/comm/transport/task_signal.h"
#include "weft/train/sync/aggregation_rule.h"
#include "weft/train/sync/policy.h"

namespace weft {

// What came from a worker, decoded.
struct Received {
  int rank = 0;
  // What its gradients are of the batch: it says so itself.
  double share = 0;
  std::vector<float> values;
};

class RuleRun {
 public:
  // Who has the contributions to a bucket: its owner (roles.h), or everyone.
  enum class Holders { kOwner, kEveryone };

  RuleRun(const SyncContext& context, Holders holders);

  // Whether contributions are added as they come: combine() has no use then.
  bool is_sum() const { return rule_ == nullptr; }

  // At the beginning of each bucket's exchange, on all ranks: opens what its
  // holders talk over.
  void enter(const Bucket& bucket, const SyncStep& step);
  // Writes into the bucket what stands for the sum of all workers' gradients,
  // where only some came, too. Who has no share of the batch counts as not
  // come, and one that counts by its share is scaled to what a full one would
  // be. Throws Error(kInvalidArgument) where those that came are too few for
  // the rule, and what transfers throw.
  Task<> combine(Bucket& bucket, SyncStep step, std::vector<Received> received);

  // An exchange has failed: others that wait for its bucket to be measured fail
  // with it.
  void fail(std::exception_ptr failure);

  // As SyncPolicy has them.
  std::vector<OwnedTensor> state() const;
  std::string restore(const std::function<Tensor(const std::string&)>& read);
  Figures figures() const {
    if (rule_ == nullptr) return {};
    const RuleFigures of = rule_->figures();
    return {{"selected", of.selected}, {"margin", of.margin}};
  }

 private:
  struct Held {
    std::vector<Tensor> slots;       // rows as long as the bucket
    std::vector<double> numbers;     // that were measured of it
    std::vector<float> parameters;   // laid out as the bucket
    std::vector<Contribution> part;  // that is to be combined
  };

  bool holds(const Bucket& bucket) const {
    return everyone_holds_ ||
           roles_.owner_of(bucket.number()) == communicator_.rank();
  }
  RulePart part_of_bucket(const Bucket& bucket) const;
  void check_number(std::size_t arrived, const SyncStep& step) const;
  void measure(const Bucket& bucket);
  // Ends when it is decided what becomes of this step's buckets.
  Task<> decision(SyncStep step);
  Task<> decide(SyncStep step);
  // Everyone's numbers of all buckets, added.
  Task<> sum_numbers(std::vector<double>& sums);

  Communicator& communicator_;
  Roles roles_;
  bool everyone_holds_;
  std::span<const Bucket> buckets_;
  std::vector<NamedTensor> trainable_;
  Call<AggregationRuleDef> call_;
  std::unique_ptr<AggregationRule> rule_;  // null: all are added
  std::vector<int> holders_;               // ranks, where not everyone
  std::vector<Held> held_;                 // by bucket; of some nothing
  std::size_t count_held_ = 0;
  std::vector<Tensor> shared_slots_;
  // This is of the step under way.
  std::optional<Channel> channel_;
  std::size_t measured_ = 0;
  bool is_decided_ = false;
  std::exception_ptr failure_;
  TaskSignal changed_;
};

}  // namespace weft
