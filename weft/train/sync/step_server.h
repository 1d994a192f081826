// A parameter server that is spread over the workers: each bucket has an owner
// that holds the true parameters and the optimizer's state for it.
//
//   push  each worker sends its gradients, through the codec and its own
//         memory, to the owner, which adds them in the order of ranks
//   pull  the owner updates the true parameters and sends, through the codec
//         and once, how they differ from the workers': the same bytes to every
//         worker, itself included
//
// Where [sync] credit bounds what is under way, the owner tells each worker
// that its push is there. So workers that share a card keep pace with each
// other: the owner answers when the last push has come, and one that ran ahead
// would keep the others' out.
//
// Gradients may arrive in part, where a network loses some: what is missing is
// NaN, for a rule that bears it (Damaskinos et al., "AGGREGATHOR: Byzantine
// Machine Learning via Robust Gradient Aggregation", MLSys 2019, section 3.3).
// Parameters always arrive whole: what is lost of them is sent again
// (comm/transport/resend.h).
//
// Ranks that only serve do the same ([sync] servers). Where a quorum suffices,
// the owner goes on without those that come later, whose gradients are lost
// (Chen, Pan, Monga, Bengio and Jozefowicz, "Revisiting Distributed Synchronous
// SGD", 2016: backup workers).
//
// So all workers hold the same bits. That difference is the pull memory of
// Lim, Andersen and Kaminsky ("3LC", MLSys 2019, section 3): what was not sent
// yet, here without a buffer that rounding could part from the truth.
//
// Threads: as SyncPolicy says.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/comm/transport/credit_queue.h"
#include "weft/train/step/step.h"
#include "weft/train/sync/arrivals.h"
#include "weft/train/sync/compressor.h"
#include "weft/train/sync/policy.h"
#include "weft/train/sync/rule_run.h"

namespace weft {

class StepServer : public SyncPolicy {
 public:
  // Whose gradients a step waits for. Those that come `in_part` travel as they
  // are, without the codec.
  StepServer(const Quorum& quorum, bool in_part, const SyncContext& context);

  bool meets(const SyncStep& step) const override;
  Task<> exchange(Bucket& bucket, SyncStep step) override;
  void apply(Bucket& bucket, const SyncStep& step) override;
  void end_step(const SyncStep& step) override;
  std::vector<OwnedTensor> state() const override;
  std::string restore(const std::function<Tensor(const std::string&)>& read,
                      int ranks) override;
  Figures figures() const override { return rule_.figures(); }
  std::string text() const override;

 private:
  // What the owner of a bucket keeps; the messages are everyone's.
  struct Served {
    std::vector<Tensor> parameters;  // the true ones, by member
    std::unique_ptr<Step> update;
    std::vector<NamedTensor> state;  // all of it, also where not owned
    std::vector<float> difference;   // from the workers', laid out as bucket
    std::unique_ptr<Arrivals> arrivals;  // of the last step
    Bytes message;
    Bytes room;
  };

  bool is_worker() const { return roles_.is_worker(communicator_.rank()); }
  bool is_owner(const Bucket& bucket) const {
    return roles_.owner_of(bucket.number()) == communicator_.rank();
  }
  Served serve(const Bucket& bucket, const SyncContext& context);
  void encode_push(const Bucket& bucket, const SyncStep& step, Served& served);
  Task<> push_and_pull(Channel push, Channel pull, const Bucket& bucket,
                       Served& served);
  CreditQueue& queue_to(int rank);
  Task<> send_push(Channel push, int owner,
                   std::span<const std::byte> message) const;
  Task<> send_change(Channel pull, const Bucket& bucket, const Served& served);
  Task<> send_whole(Channel pull, int worker,
                    std::span<const std::byte> message) const;
  Task<> send_late(Channel pull, int worker, Bytes message) const;
  void begin_arrivals(const Channel& push, const Bucket& bucket,
                      Served& served);
  Task<> wait_for_late();
  Task<> collect(Bucket& bucket, SyncStep step, Arrivals& arrivals);
  void add(const Bucket& bucket, const SyncStep& step,
           const Arrivals& arrivals) const;
  std::vector<Received> decoded(const Bucket& bucket, const SyncStep& step,
                                const Arrivals& arrivals) const;
  void update(const Bucket& bucket, const SyncStep& step, Served& served);

  Communicator& communicator_;
  AsyncEngine& network_;
  SyncPrice price_;
  Roles roles_;
  Quorum quorum_;
  bool in_part_;  // gradients may arrive so
  bool gives_receipts_;
  std::vector<int> workers_;
  RuleRun rule_;
  std::span<Bucket> buckets_;
  std::vector<NamedTensor> trainable_;
  Compressor push_;
  Compressor pull_;
  // For a quorum one for each rank, so that who stalls holds nobody's credit
  // but its own; else one for the card that all share.
  std::deque<CreditQueue> queues_;
  std::vector<Served> served_;
  // Steps that went on without some have left them.
  std::vector<std::unique_ptr<Arrivals>> late_;
  // What nobody waits for before the end of an epoch.
  std::vector<Task<>> late_sends_;
  std::string text_;
};

}  // namespace weft
