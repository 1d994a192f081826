// A parameter server whose workers need not wait for each other: each pushes
// its gradients, which are applied as they come, and gets the parameters as
// they are then. How far it may be ahead of the slowest is bounded (Ho et al.,
// "More Effective Distributed ML via a Stale Synchronous Parallel Parameter
// Server", NeurIPS 2013), or is not (Dean et al., "Large Scale Distributed Deep
// Networks", NeurIPS 2012: Downpour SGD).
//
// It is spread over the workers or stands on ranks of its own, as policy
// "server": each bucket of parameters has an owner. A round is the steps
// between two meetings, which are before whatever looks at the model. Within
// one, each worker and owner have a channel each way, and the owner a task for
// each worker; in the last step of a round everyone waits until all have
// pushed, and so gets the same parameters.
//
// Gradients travel through the codec and a memory; parameters as they are. A
// gradient counts by its share of the batch: n pushes of SGD move the model as
// one step of n workers would. An optimizer that looks at all gradients
// together has all parameters in one bucket, and is told by how many updates a
// push is late.
//
// Threads: as SyncPolicy says.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/comm/transport/credit_queue.h"
#include "weft/comm/transport/task_signal.h"
#include "weft/train/step/step.h"
#include "weft/train/sync/compressor.h"
#include "weft/train/sync/policy.h"

namespace weft {

class FreeServer : public SyncPolicy {
 public:
  // `slack`: steps by which a worker may be ahead of the slowest; nothing: any
  // number.
  FreeServer(std::optional<std::int64_t> slack, const SyncContext& context);

  bool meets(const SyncStep& step) const override { return step.must_meet; }
  Task<> exchange(Bucket& bucket, SyncStep step) override;
  void apply(Bucket& bucket, const SyncStep& step) override;
  void end_step(const SyncStep& step) override;
  std::vector<OwnedTensor> state() const override;
  std::string restore(const std::function<Tensor(const std::string&)>& read,
                      int ranks) override;
  std::string text() const override;

 private:
  // What comes before a message of gradients.
  struct Header {
    std::int64_t step = 0;
    std::int64_t epoch = 0;
    double lr = 0;
    double share = 0;
    std::int64_t examples = 0;
    std::int64_t is_last = 0;  // of the round
  };

  // One bucket.
  struct Shard {
    explicit Shard(Transport& transport) : changed(transport) {}

    // --- Of its owner ---
    std::vector<Tensor> parameters;  // the true ones, by member
    std::vector<Tensor> gradients;   // of one push
    Tensor pushed;                   // the memory of these, laid out as bucket
    std::unique_ptr<Step> update;
    std::vector<std::int64_t> pushes;  // in this round, by worker
    std::vector<std::int64_t> seen;    // updates in what each worker has
    std::vector<bool> has_finished;    // this round, by worker
    TaskSignal changed;                // any of these
    std::exception_ptr failure;        // of a task that serves
    std::vector<AsyncEngine::Operation> serving;
    // --- Of all ---
    // The owner's are in use: the optimizer's, and how many updates there were,
    // i64[], which is the time that an optimizer such as Adam counts by.
    std::vector<NamedTensor> slots;
    Tensor updates = Tensor::scalar(0, DType::kI64);
    std::optional<Channel> push;  // while a round lasts
    std::optional<Channel> pull;
    Bytes message;
    std::vector<float> pulled;
  };

  bool is_worker() const { return roles_.is_worker(communicator_.rank()); }
  int owner_of(const Bucket& bucket) const {
    return roles_.owner_of(bucket.number());
  }
  bool is_owner(const Bucket& bucket) const {
    return owner_of(bucket) == communicator_.rank();
  }
  std::unique_ptr<Shard> make_shard(const Bucket& bucket,
                                    const SyncContext& context);
  void begin_round(Bucket& bucket, Shard& shard);
  void encode(const Bucket& bucket, const SyncStep& step, Shard& shard);
  Task<> serve(Bucket& bucket, Shard& shard, int worker);
  // Applies a push and ends when its worker may go on.
  Task<> take(Bucket& bucket, Shard& shard, int worker, Bytes message);
  // An owner that computes nothing itself waits so: it ends with the round.
  Task<> wait_for_round(Shard& shard);
  bool may_go_on(const Shard& shard, int worker) const;
  // The parameters as they are now, for a worker to go on with.
  void collect(const Bucket& bucket, Shard& shard, int worker,
               std::span<float> into) const;

  Communicator& communicator_;
  AsyncEngine& network_;
  SyncPrice price_;
  Roles roles_;
  std::optional<std::int64_t> slack_;
  std::span<Bucket> buckets_;
  std::vector<NamedTensor> trainable_;
  Compressor push_;
  bool gives_means_;  // to the optimizer, which measures how large they are
  CreditQueue queue_;
  std::vector<std::unique_ptr<Shard>> shards_;  // by bucket
  std::string codec_;                           // for people
};

}  // namespace weft
