#include "weft/train/sync/synced_worker.h"

#include <cmath>
#include <limits>
#include <set>

#include "weft/train/sync/auto_codec.h"
#include "weft/train/sync/compressor.h"
#include "weft/train/sync/network.h"
#include "weft/train/sync/prices.h"
#include "weft/train/sync/priorities.h"
#include "weft/train/sync/private_policy.h"
#include "weft/train/sync/rules.h"

namespace weft {
namespace {

bool clips_first(const Call<SyncPolicyDef>& policy, const SyncRecipe& recipe) {
  return policy.def->clips_first != nullptr &&
         policy.def->clips_first(policy.options, recipe);
}

// Gradients are clipped here only if the policy wants it before the exchange.
// The bound then is each worker's share of it: max_norm / sqrt(workers) (Lin
// et al., "Deep Gradient Compression", section 3.2) for a gradient that is
// scaled by 1 / workers.
StepOptions backward_options(StepOptions options, const SyncRecipe& recipe,
                             const WorkerGroup& group, bool draws_one_batch) {
  const int workers = Roles(group.size(), recipe.servers).workers();
  // A run that waits for parameters steps aside in its middle, and so needs a
  // plan to itself.
  if (recipe.overlap_forward) options.executables = nullptr;
  // Each worker drops out others. Where all draw one batch for private
  // training, examples draw by their place in it.
  if (!draws_one_batch)
    options.seed += static_cast<std::uint64_t>(group.rank()) << 32;
  if (clips_first(policy_of(recipe), recipe)) {
    options.clip_norm /= std::sqrt(workers) * workers;
  } else {
    options.clip_norm = 0;
  }
  return options;
}

// An owner of parameters whose optimizer looks at all of them has them all.
bool wants_one_bucket(const SyncRecipe& recipe, const Optimizer& optimizer) {
  return !policy_of(recipe).def->updates_whole_model &&
         optimizer.sees_all_parameters();
}

std::int64_t bytes_of_buckets(const SyncRecipe& recipe,
                              const Optimizer& optimizer) {
  return wants_one_bucket(recipe, optimizer)
             ? std::numeric_limits<std::int64_t>::max()
             : recipe.bucket_bytes;
}

std::vector<double> bytes_of(std::span<const NamedTensor> tensors) {
  std::vector<double> bytes;
  for (const NamedTensor& named : tensors) {
    bytes.push_back(static_cast<double>(named.tensor.bytes()));
  }
  return bytes;
}

// What a worker does that adds to a shared model what it has trained.
StepDescription alone_description(const StepDescription& description,
                                  const Optimizer& optimizer,
                                  double clip_norm) {
  StepOptions options = description.options();
  options.clip_norm = clip_norm;
  return StepDescription(*description.model(), *description.task(),
                         description.inputs(), options, &optimizer);
}

// The bound by which the policy clips what it sums. What backward has clipped
// is not clipped again.
double clip_norm_of_sums(const SyncRecipe& recipe, const StepOptions& options) {
  const double clip_norm =
      clips_first(policy_of(recipe), recipe) ? 0 : options.clip_norm;
  if (recipe.overlap_forward && clip_norm > 0) {
    throw refused("sync.overlap_forward", "true",
                  {"optimizer.clip_norm with this policy",
                   "the norm of all gradients is not known before the last has "
                   "come",
                   "policy = \"server\", which clips before gradients travel; "
                   "or leave one of them out"});
  }
  return clip_norm;
}

// Whether memory is shared is known only where the ranks are.
void check_memory(const SyncRecipe& recipe, const Transport& transport) {
  const Call<SyncPolicyDef> policy = policy_of(recipe);
  if (!policy.def->shares_model || transport.shares_memory()) return;
  throw refused("sync.policy", in_quotes(policy.def->name),
                {fmt::format("transport '{}'", transport.name()),
                 "its ranks are processes, and have no memory in common",
                 "--workers N, which are threads; or policy = "
                 "\"async_server\""});
}

}  // namespace

SyncedWorker::SyncedWorker(const StepDescription& description,
                           const Optimizer& optimizer, const SyncRecipe& recipe,
                           WorkerGroup& group, SimulatedComputing* computing,
                           const std::optional<PrivateSync>& privacy)
    : group_(group),
      roles_(group.size(), recipe.servers),
      computing_(computing),
      description_(description.with_options(
          backward_options(description.options(), recipe, group,
                           privacy.has_value() && !privacy->own))),
      model_(description_, group),
      layout_(model_.trainable(), recipe.slices ? recipe.bucket_bytes : 0,
              bytes_of_buckets(recipe, optimizer)),
      measure_every_(recipe.measure_every),
      privacy_(privacy),
      is_sparsified_(recipe.sparsify != "none" &&
                     policy_of(recipe).def->leaves_sums),
      sends_gradients_(policy_of(recipe).def->sends_gradients),
      // All gradients are there before they get noise.
      overlaps_(recipe.overlap && sends_gradients_ &&
                !(privacy && privacy->own)),
      overlaps_forward_(recipe.overlap_forward),
      missing_(layout_.buckets().size()),
      exchanges_(layout_.buckets().size()) {
  // Mistakes of the recipe are told before anything is exchanged.
  check_sync(recipe, optimizer);
  check_memory(recipe, group_.transport());
  chosen_ = model_.share_initial_weights();
  if (wants_one_bucket(recipe, optimizer)) {
    chosen_ += (chosen_.empty() ? "" : "\n");
    chosen_ += "one bucket: the optimizer looks at all gradients together";
  }
  const SyncRecipe settled = settle(recipe);
  // What all have in common, which backward's options are not: what workers
  // draw alike must not depend on the rank.
  const StepOptions& common = description.options();
  const double clip_norm = clip_norm_of_sums(settled, common);
  make_backward(policy_of(settled), optimizer, clip_norm);
  prioritize(settled, common.seed);
  find_unread();
  make_policy(settled, optimizer, clip_norm, common);
  state_ = model_.all(*policy_);
  // A value from the start tells the trainer to keep a log of it.
  traffic_.emplace();
  if (measure_every_ > 0) {
    drift_meter_.emplace(group_, layout_.buckets(), policy_->state(), settled,
                         common.seed);
  }
}

void SyncedWorker::make_backward(const Call<SyncPolicyDef>& policy,
                                 const Optimizer& optimizer, double clip_norm) {
  const auto gradients = layout_.gradients();
  description_.set_gradients(gradients);
  if (policy.def->shares_model) {
    const StepDescription alone =
        alone_description(description_, optimizer, clip_norm);
    backward_.emplace(alone, StepCut::kTrain);
    touched_.emplace(alone);
  } else {
    backward_.emplace(description_, StepCut::kGradients);
  }
  if (privacy_ && privacy_->one_by_one_norm) {
    one_by_one_.emplace(gradients, *privacy_->one_by_one_norm);
  }
}

void SyncedWorker::make_policy(const SyncRecipe& settled,
                               const Optimizer& optimizer, double clip_norm,
                               const StepOptions& common) {
  const Call<SyncPolicyDef> policy = policy_of(settled);
  policy_ = policy.def->make(policy.options,
                             {.communicator = group_.communicator(),
                              .network = group_.network(),
                              .recipe = settled,
                              .optimizer = optimizer,
                              .roles = roles_,
                              .clip_norm = clip_norm,
                              .seed = common.seed,
                              .executables = common.executables,
                              .price = price_of_sync(settled, optimizer),
                              .trainable = layout_.exchanged(),
                              .statistics = model_.batch_statistics(),
                              .buckets = layout_.buckets()});
  if (privacy_ && !privacy_->own) {
    policy_ = with_noise(std::move(policy_), privacy_->noise);
  }
}

SyncedWorker::~SyncedWorker() {
  // One that a failure leaves in the middle of a step has exchanges under way,
  // which hold its gradients and its policy.
  group_.network().give_up();
}

void SyncedWorker::find_unread() {
  const std::vector<std::int64_t> uses = backward_->first_uses();
  std::set<std::size_t> unread;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (uses[i] != Step::kNeverUsed) continue;
    const auto& buckets = layout_.buckets_of(i);
    unread.insert(buckets.begin(), buckets.end());
  }
  unread_.assign(unread.begin(), unread.end());
}

std::vector<NamedTensor> SyncedWorker::changed_by_runs() const {
  std::vector<NamedTensor> changed = model_.changed_by_runs();
  if (touched_) {
    const auto& trained = model_.trainable();
    changed.insert(changed.end(), trained.begin(), trained.end());
  }
  return changed;
}

void SyncedWorker::prioritize(const SyncRecipe& settled, std::uint64_t seed) {
  const std::vector<NamedTensor> changed = changed_by_runs();
  const std::vector<double> bytes = bytes_of(model_.trainable());
  const Priorities agreed =
      agreed_priorities(settled, {.backward = *backward_,
                                  .seed = seed,
                                  .bytes = bytes,
                                  .changed = changed,
                                  .group = group_,
                                  .computing = computing_});
  if (!agreed.text.empty()) {
    chosen_ += (chosen_.empty() ? "" : "\n") + agreed.text;
  }
  layout_.set_priorities(agreed.priorities);
  priorities_of_step_ = agreed.of_step;
}

SyncRecipe SyncedWorker::settle(SyncRecipe recipe) {
  if (recipe.codec != "auto") return recipe;
  const Topology topology =
      network_of(group_.communicator(), group_.network(), recipe.topology)
          .topology;
  const AutoCodec choice =
      choose_codec(group_.communicator(), group_.network(), topology,
                   layout_.bytes(), policy_of(recipe));
  chosen_ += (chosen_.empty() ? "" : "\n") + choice.explanation;
  recipe.codec = choice.codec;
  // The policy takes the network as it was measured, and does not measure
  // again.
  recipe.topology = to_string(topology);
  return recipe;
}

SyncPrice SyncedWorker::price_of_sync(const SyncRecipe& settled,
                                      const Optimizer& optimizer) {
  if (computing_ == nullptr) return {};
  return computing_->sync_price([&] {
    return measure_sync(settled, roles_, optimizer, model_.trainable());
  });
}

const StepPrice& SyncedWorker::price_of_step(const Batch& batch) {
  const std::vector<NamedTensor> changed = changed_by_runs();
  return computing_->step_price(
      [&](MeasuredRuns runs) {
        return measure_step(*backward_, batch, changed,
                            model_.trainable().size(), runs);
      },
      bytes_of(model_.trainable()));
}

std::string SyncedWorker::text() const {
  return fmt::format("{} workers ({}), {}{}{}", ranks(),
                     group_.transport().name(), policy_->text(),
                     chosen_.empty() ? "" : "\n", chosen_);
}

void SyncedWorker::reset_carried() { backward_->reset_carried(); }

void SyncedWorker::fail(const Error& error) { group_.network().fail(error); }

}  // namespace weft
