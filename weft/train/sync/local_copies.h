// Copies of the model that workers train by themselves until they meet, and go
// on from the mean of all copies: what policies have in common that differ in
// when workers meet.
//
// What travels is how far each copy is from where all began, through the
// exchange that gradients would take: summed by any collective, sparsified and
// encoded with a memory of what was left out, or combined by a rule, as the
// recipe says.
//
// With block momentum (Chen and Huo, "Scalable Training of Deep Learning
// Machines by Incremental Block Training with Intra-Block Parallel Optimization
// and Blockwise Model-Update Filtering", ICASSP 2016; Wang and Joshi's form,
// whose velocity is in units of gradients) the mean change d of a period at
// rate lr moves the model as a step of momentum would:
//
//   v <- block_momentum * lr / lr' * v + d        lr': that of the period
//   before p <- p + v
//
// Threads: as SyncPolicy says.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/train/sync/exchange.h"
#include "weft/train/sync/policy.h"
#include "weft/train/sync/whole_update.h"

namespace weft {

class LocalCopies {
 public:
  // The options of a policy that uses these, behind those of its own.
  static std::vector<OptionSpec> options(std::vector<OptionSpec> own);
  // What such a policy declines (SyncPolicyDef).
  static std::optional<Refusal> declines(const Options& options,
                                         const SyncRecipe& recipe);

  LocalCopies(const Options& options, const SyncContext& context);

  // One worker alone meets nobody, and its copy is the model.
  bool has_others() const { return communicator_.size() > 1; }

  // For SyncPolicy::prepare(): updates this worker's copy. Where workers meet,
  // it leaves in the buckets how far that has come, and the copy where all
  // began.
  void prepare(const SyncStep& step, bool meets);
  Task<> exchange(Bucket& bucket, SyncStep step) {
    return exchange_->sum(bucket, step);
  }
  // For SyncPolicy::end_step(): takes the copy to where all go on from.
  void end_step(const SyncStep& step);

  std::vector<OwnedTensor> state() const;
  std::string restore(const std::function<Tensor(const std::string&)>& read,
                      int ranks);
  Figures figures() const { return exchange_->figures(); }
  // "all_reduce(ring) of f32".
  std::string text() const;

 private:
  template <class Body>
  void for_each_member(const Body& body);
  void remember();
  void go_back();
  void move_by_block(double lr);
  void reset_slots();
  void average_slots();
  void average_statistics();

  Communicator& communicator_;
  AsyncEngine& network_;
  const Optimizer& optimizer_;
  std::string momentum_;
  std::string statistics_treatment_;
  double block_momentum_;
  std::span<Bucket> buckets_;
  std::vector<NamedTensor> trainable_;
  std::vector<NamedTensor> statistics_;
  // Where all copies were when workers last met, once this one has left it.
  std::vector<Tensor> began_;
  // Velocities by parameter, and the rate of the last period; none without
  // block momentum.
  std::vector<NamedTensor> block_;
  std::string network_text_;  // for people
  std::unique_ptr<Exchange> exchange_;
  WholeUpdate update_;
};

}  // namespace weft
