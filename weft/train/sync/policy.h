// Sync policies: what workers exchange, and who applies it.
//
//   local_sgd, adacomm
//              workers update copies of their own, and meet now and then at the
//              mean of all copies (local_copies.h)
//   allreduce  every worker gets the sum of all gradients and updates its copy
//              of the model
//   server     each bucket of parameters has an owner, who collects gradients
//              (push), updates, and sends the change of the model (pull)
//   stale_server, async_server
//              the same, but a push is applied as it comes, and workers go on
//              without each other
//   hogwild    workers are threads that add to one model
//
// A worker's gradients are scaled by its share of the batch beforehand, so
// their sum is the gradient of the whole batch.
//
// The order of calls in a step: exchange() once per bucket, in the order of
// buckets and as soon as its gradients are there; then apply() once per bucket,
// and end_step(). Exchanges are tasks of the network's thread and run while
// others are computed; apply() runs after that of its bucket, on the thread
// that trains. Where something else than gradients travels, prepare() comes
// first, when all gradients are there; and exchange() and apply() are called in
// steps of the policy's choice. Where workers meet, votes() are taken before
// exchanges are waited for, and counted last.
//
// A policy with options of its own is written "server(…)" (base/call_reader.h).
// A new one is one file in sync/policies.
//
// Threads: as described; the rest by the caller.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/base/call_reader.h"
#include "weft/base/option_schema.h"
#include "weft/base/refusal.h"
#include "weft/base/registry.h"
#include "weft/comm/transport/async_engine.h"
#include "weft/comm/transport/communicator.h"
#include "weft/comm/transport/topology.h"
#include "weft/optim/optimizer.h"
#include "weft/train/recipe/recipe.h"
#include "weft/train/simulate/computing.h"
#include "weft/train/step/metrics.h"
#include "weft/train/step/parameter_part.h"
#include "weft/train/step/traffic.h"
#include "weft/train/sync/bucket.h"
#include "weft/train/sync/roles.h"

namespace weft {

class ExecutableCache;
struct CodecSpeed;  // auto_codec.h

struct SyncStep {
  std::int64_t number = 0;  // of the step, from 0
  std::int64_t epoch = 0;
  double lr = 0;
  std::int64_t examples = 0;  // of this worker's part of the batch
  double share = 0;  // what its gradients are of the whole batch's: they all
                     // sum to 1
  Ratio loss = {};   // of its part; known from prepare() on
  // All copies must be equal after it: something is measured or saved then.
  bool must_meet = true;
};

// A tensor of a distributed state: in the checkpoint under `name`, in the
// memory of rank `owner`; undefined elsewhere.
struct OwnedTensor {
  std::string name;
  TensorType type;
  int owner = 0;
  Tensor tensor;
};

// What is there when a policy is made.
struct SyncContext {
  Communicator& communicator;
  AsyncEngine& network;  // that its operations run on
  const SyncRecipe& recipe;
  const Optimizer& optimizer;
  Roles roles;
  double clip_norm = 0;  // 0: gradients are not clipped
  std::uint64_t seed = 1;
  // As StepOptions says.
  ExecutableCache* executables = nullptr;
  // What a policy charges for its own computing, in pauses of its operations
  // and to the network in apply(); nothing where that takes time by itself.
  SyncPrice price = {};
  // The model's parameters, and their gradients in buckets.
  std::span<const NamedTensor> trainable;
  // Running statistics of batches: each worker has its own, and the first one's
  // are measured with and saved.
  std::span<const NamedTensor> statistics = {};
  std::span<Bucket> buckets;

  // The same, with another group of the same workers.
  SyncContext among(Communicator& group) const;
};

class SyncPolicy {
 public:
  virtual ~SyncPolicy() = default;

  // Whether workers meet in this step: the same on all of them. Between
  // meetings copies may differ; after one they are equal.
  virtual bool meets(const SyncStep&) const { return true; }
  // Whether exchange() and apply() are called in this step: whenever workers
  // meet, and where they need not wait for each other, in other steps too.
  virtual bool exchanges(const SyncStep&) const { return true; }
  // A worker is about to train its copy, of which the step reads and changes
  // these parts. Called where the policy `shares_model`, by who has examples.
  virtual void begin(const SyncStep&, std::span<const ParameterPart>) {}
  // Leaves in the buckets what travels in place of the gradients there. Called
  // in every step, by policies that do not send gradients alone.
  virtual void prepare(const SyncStep&) {}
  // Enters all its operations before it first waits: exchanges are under way
  // side by side, and all workers must enter them in the same order. Where the
  // policy `leaves_sums` the bucket holds the sum of all gradients afterwards;
  // else what it holds is the policy's own until apply().
  virtual Task<> exchange(Bucket& bucket, SyncStep step) = 0;
  // What becomes of a bucket's parameters, once its exchange is over.
  virtual void apply(Bucket& /*bucket*/, const SyncStep&) {}
  // What is left to do when all of them are over.
  virtual void end_step(const SyncStep&) {}

  // Numbers of this worker that are summed over all where workers meet: as many
  // each time. They ride on the message of their totals, so that what is
  // decided by the sums is decided alike, at no cost.
  virtual std::vector<double> votes(const SyncStep&) { return {}; }
  // The sums of these; comes last of all in a step in which workers meet.
  // Returns what there is to say; empty if nothing.
  virtual std::string count_votes(const SyncStep&,
                                  std::span<const double> /*sums*/) {
    return "";
  }
  // What it tells of the last step, for the log of traffic.
  virtual Figures figures() const { return {}; }

  // All that is changed beside the model's parameters: the same list, in the
  // same order, on all ranks.
  virtual std::vector<OwnedTensor> state() const = 0;
  // Takes what a checkpoint of `ranks` workers holds under `name`; undefined
  // if it is not there. Called on each rank for what it needs after the
  // parameters are restored. Returns what there is to say of what was not
  // there and could be done without; empty if nothing.
  virtual std::string restore(
      const std::function<Tensor(const std::string&)>& read, int ranks) = 0;

  // It is for people: "all_reduce(ring) of f32, 3 buckets, …".
  virtual std::string text() const = 0;
};

struct SyncPolicyDef {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options = {};
  // Whether each worker updates all parameters, or some of them only.
  bool updates_whole_model = true;
  // Whether [sync] collective says how it sums.
  bool uses_collective = false;
  // Whether gradients travel as they are, each as soon as it is there; those of
  // a worker count by its share of the batch then. If not, they are of the mean
  // over its own part.
  bool sends_gradients = true;
  // Whether it has each contribution by itself, and makes of them what [sync]
  // rule says. Where it uses a collective, that decides (exchange.h).
  bool takes_rules = false;
  // The fewest of so many workers' contributions that it makes something of,
  // which a rule must be content with; null: all.
  int (*fewest_contributions)(const Options& options, int workers) = nullptr;
  // Whether workers add to one model in the memory that they share: ranks are
  // of one process then, and the optimizer must be one whose changes can be
  // added (shared_model.h). A worker's step updates its copy, and leaves no
  // gradients; nothing travels.
  bool shares_model = false;
  // Whether it has servers, which may be ranks of their own ([sync] servers).
  bool has_servers = false;
  // Whether [sync] credit may hold back what it sends: nobody waits for that
  // before letting through what goes first.
  bool takes_credit = false;
  // Whether apply() leaves the parameters of its bucket as the next step wants
  // them, whatever becomes of others.
  bool applies_each = false;
  // Whether buckets hold the sum of all gradients from exchange() to apply().
  bool leaves_sums = false;
  // Whether a step that is done again from a checkpoint gives the same, but for
  // rounding, as no order of arrivals plays a part.
  bool is_repeatable = true;
  // Whether workers tell each other their losses, to decide by them.
  bool tells_losses = false;
  // In all that follows, `options` are complete.
  //
  // Why it cannot train by the other keys of [sync]; null: it always can.
  std::optional<Refusal> (*declines)(const Options& options,
                                     const SyncRecipe& recipe) = nullptr;
  // Why so many workers are too few or too many; null: they never are.
  std::optional<Refusal> (*declines_workers)(const Options& options,
                                             int workers) = nullptr;
  // True if clipping by the norm of all gradients must happen before they are
  // exchanged; null: it never must.
  bool (*clips_first)(const Options& options,
                      const SyncRecipe& recipe) = nullptr;
  // Predicted for a step's exchange of `bytes` of gradients by such a codec,
  // nothing hidden; null: nobody knows, and codec "auto" cannot choose.
  double (*seconds)(const Options& options, const CodecSpeed& codec,
                    const Topology& network, double bytes) = nullptr;
  std::unique_ptr<SyncPolicy> (*make)(const Options& options,
                                      const SyncContext& context) = nullptr;
};

using SyncPolicyRegistry = Registry<SyncPolicyDef>;

// It is filled from the files of weft/train/sync/policies.
const SyncPolicyRegistry& sync_policy_registry();

// The one that a recipe names. Throws Error(kInvalidArgument) with the nearest
// name, or what is wrong with an option.
Call<SyncPolicyDef> policy_of(const SyncRecipe& recipe);

}  // namespace weft
