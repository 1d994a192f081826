#include "weft/train/sync/synced_worker.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "weft/train/sync/auto_codec.h"
#include "weft/train/sync/compressor.h"
#include "weft/train/sync/gather.h"
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

// Which part of what overlap could save a step has saved (transfer_order.h).
double efficiency_of(double computing, double wire, double step) {
  const TransferSchedule schedule{.makespan = step,
                                  .total = computing + wire,
                                  .bound = std::max(computing, wire)};
  return std::clamp(schedule.efficiency(), 0.0, 1.0);
}

// Measures as the numbers that workers sum, and back.
std::vector<double> flat(const MeasureSums& sums) {
  std::vector<double> numbers;
  for (const Ratio& ratio : sums.ratios()) {
    numbers.insert(numbers.end(), {ratio.sum, ratio.count});
  }
  return numbers;
}

MeasureSums sums_of(const std::vector<double>& numbers) {
  MeasureSums sums(numbers.size() / 2);
  for (std::size_t i = 0; i < sums.ratios().size(); ++i) {
    sums.ratios()[i] = {numbers[2 * i], numbers[2 * i + 1]};
  }
  return sums;
}

std::vector<double> bytes_of(std::span<const NamedTensor> tensors) {
  std::vector<double> bytes;
  for (const NamedTensor& named : tensors) {
    bytes.push_back(static_cast<double>(named.tensor.bytes()));
  }
  return bytes;
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
  const Call<SyncPolicyDef> policy = policy_of(recipe);
  // What backward has clipped is not clipped again.
  const double clip_norm =
      clips_first(policy, recipe) ? 0 : description.options().clip_norm;
  if (overlaps_forward_ && clip_norm > 0) {
    throw refused("sync.overlap_forward", "true",
                  {"optimizer.clip_norm with this policy",
                   "the norm of all gradients is not known before the last has "
                   "come",
                   "policy = \"server\", which clips before gradients travel; "
                   "or leave one of them out"});
  }
  const auto gradients = layout_.gradients();
  description_.set_gradients(gradients);
  backward_.emplace(description_, StepCut::kGradients);
  if (privacy && privacy->one_by_one_norm) {
    one_by_one_.emplace(gradients, *privacy->one_by_one_norm);
  }
  prioritize(settled, description.options().seed);
  find_unread();
  policy_ = policy.def->make(
      policy.options,
      {.communicator = group_.communicator(),
       .network = group_.network(),
       .recipe = settled,
       .optimizer = optimizer,
       .roles = roles_,
       .clip_norm = clip_norm,
       // This is the seed that all have in common, and not backward's:
       // what workers draw alike must not depend on the rank.
       .seed = description.options().seed,
       .executables = description.options().executables,
       .price = price_of_sync(settled, optimizer),
       .trainable = layout_.exchanged(),
       .statistics = model_.batch_statistics(),
       .buckets = layout_.buckets()});
  if (privacy && !privacy->own) {
    policy_ = with_noise(std::move(policy_), privacy->noise);
  }
  state_ = model_.all(*policy_);
  // A value from the start tells the trainer to keep a log of it.
  traffic_.emplace();
  if (measure_every_ > 0) {
    drift_meter_.emplace(group_, layout_.buckets(), policy_->state(), settled,
                         description.options().seed);
  }
}

SyncedWorker::~SyncedWorker() = default;

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

void SyncedWorker::prioritize(const SyncRecipe& settled, std::uint64_t seed) {
  const std::vector<NamedTensor> changed = model_.changed_by_runs();
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

std::string SyncedWorker::text() const {
  return fmt::format("{} workers ({}), {}{}{}", ranks(),
                     group_.transport().name(), policy_->text(),
                     chosen_.empty() ? "" : "\n", chosen_);
}

WorkerTotals SyncedWorker::run(const Batch& batch, const WorkerStep& step) {
  const double began = now();
  const Traffic before = group_.network().traffic();
  step_ = {.number = step.number,
           .epoch = step.epoch,
           .lr = step.lr,
           .examples = batch.size,
           .must_meet = step.must_meet};
  missing_ = layout_.parameters_in();
  next_bucket_ = 0;
  waited_ = 0;
  const bool is_measured =
      // Steps are counted from 1, as in the log.
      drift_meter_ && (step.number + 1) % measure_every_ == 0;
  if (priorities_of_step_) {
    layout_.set_priorities(priorities_of_step_(step.number));
  }
  // The meter's all-reduce comes before the first exchange on all workers, so
  // that they enter operations in one order.
  if (is_measured) drift_meter_->begin_step();
  compute(batch, step);
  count(batch, step);
  // What is waited for from here on was not hidden behind computing.
  const double computed = now();
  // Who overtakes exchanges meets no more often than somebody looks.
  const bool have_met =
      overlaps_forward_ ? step_.must_meet : policy_->meets(step_);
  AsyncEngine::Operation summed;
  std::size_t votes = 0;
  if (have_met) {
    const std::vector<double> own = policy_->votes(step_);
    votes = own.size();
    totals_.insert(totals_.end(), own.begin(), own.end());
    summed = submit_totals();
  }
  double sum_density = kNotMeasured;
  Drift drift;
  if (policy_->exchanges(step_) && (have_met || !overlaps_forward_)) {
    for (const auto& exchange : exchanges_) group_.network().wait(exchange);
    // The buckets hold the sums until apply(), which may write over them.
    if (is_sparsified_) sum_density = layout_.density();
    if (is_measured) drift = drift_meter_->end_step(step_);
  }
  if (summed != nullptr) group_.network().wait(summed);
  const double exposed = now() - computed + waited_;
  if (have_met || !overlaps_forward_) settle_all();

  const Traffic after = group_.network().traffic();
  const double wire = after.busy_seconds - before.busy_seconds;
  traffic_ = {
      .bytes_sent = static_cast<double>(after.bytes_sent - before.bytes_sent),
      .bytes_received =
          static_cast<double>(after.bytes_received - before.bytes_received),
      .wire_seconds = wire,
      // The clocks are read at slightly different moments, so the difference is
      // kept within what it can be.
      .hidden_seconds = std::clamp(wire - exposed, 0.0, computed - began),
      .seconds = now() - began,
      .efficiency =
          efficiency_of(computed - began - waited_, wire, now() - began),
      .density = sum_density,
      .xi = drift.xi,
      .drift = drift.drift};
  WorkerTotals result;
  result.have_met = have_met;
  if (have_met) {
    const auto counted = totals_.end() - static_cast<std::ptrdiff_t>(votes);
    result.note = policy_->count_votes(step_, {counted, totals_.end()});
    totals_.erase(counted, totals_.end());
  }
  traffic_->figures = policy_->figures();
  if (!have_met) return result;
  result.is_stopping = totals_.back() > 0;
  totals_.pop_back();
  result.sums = privacy_ && privacy_->own ? std::exchange(untold_, {})
                                          : sums_of(std::exchange(totals_, {}));
  return result;
}

// Adds the measures of this worker's part, and whether it was asked to end, to
// what others are not told yet.
void SyncedWorker::count(const Batch& batch, const WorkerStep& step) {
  const MeasureSums own =
      batch.size > 0 ? measured_
                     : MeasureSums(backward_->measures().ratios().size());
  std::vector<double> totals;
  if (privacy_ && privacy_->own) {
    untold_.add(own);
  } else {
    totals = flat(own);
  }
  totals.push_back(step.wants_stop ? 1.0 : 0.0);
  totals_.resize(totals.size());
  for (std::size_t i = 0; i < totals.size(); ++i) totals_[i] += totals[i];
}

AsyncEngine::Operation SyncedWorker::submit_totals() {
  // Decisions ride on sums, so that workers cannot disagree.
  return group_.network().submit([&] {
    // Workers at different steps would be told so.
    return sum_over_workers(
        group_.communicator().open(
            {"sum", fmt::format("totals of step {}", step_.number + 1)}),
        totals_);
  });
}

void SyncedWorker::settle(std::size_t bucket) {
  if (exchanges_[bucket] == nullptr) return;
  const double began = now();
  group_.network().wait(std::exchange(exchanges_[bucket], nullptr));
  waited_ += now() - began;
  policy_->apply(layout_.buckets()[bucket], exchanged_in_);
}

void SyncedWorker::settle_all() {
  if (!has_exchanged_) return;
  for (std::size_t b = 0; b < exchanges_.size(); ++b) settle(b);
  policy_->end_step(exchanged_in_);
  has_exchanged_ = false;
}

double SyncedWorker::weight_of(const Batch& batch, std::int64_t step) {
  // The gradient is of the mean over this worker's own part.
  return sends_gradients_ ? share_of(batch, step) : 1;
}

double SyncedWorker::share_of(const Batch& batch, std::int64_t step) {
  // How many have joined is nobody's business.
  if (privacy_ && privacy_->own) return 1.0 / roles_.workers();
  const auto count = description_.task()->count_predictions();
  if (count == nullptr) {
    return static_cast<double>(batch.size) /
           static_cast<double>(batch.whole_size);
  }
  const double own = batch.size > 0 ? count(batch.tensors) : 0;
  std::vector<double> all{own};
  group_.run([&] {
    return sum_over_workers(
        group_.communicator().open(
            {"sum", fmt::format("predictions of step {}", step + 1)}),
        all);
  });
  return own / all[0];
}

// A worker without examples, at the end of an epoch, still takes part, and so
// does a rank that only serves.
void SyncedWorker::compute(const Batch& batch, const WorkerStep& step) {
  const double weight = weight_of(batch, step.number);
  step_.share = batch.size > 0 ? weight : 0;
  if (batch.size == 0) {
    settle_all();
    for (const Bucket& bucket : layout_.buckets()) {
      std::ranges::fill(bucket.gradient(), 0.0f);
    }
    std::ranges::fill(missing_, 0);
  } else {
    // Their gradients may be written before anything is read.
    for (const std::size_t bucket : unread_) settle(bucket);
    if (one_by_one_) {
      settle_all();
      measured_ =
          one_by_one_->run(*backward_, batch, step.number, first_of(batch));
      std::ranges::fill(missing_, 0);
    } else if (computing_ != nullptr) {
      compute_charged(batch, step, weight);
      measured_ = backward_->measures();
    } else {
      backward_->run(
          batch.tensors, controls_of(batch, step, weight),
          [&](std::size_t parameter) { gradient_is_there(parameter); },
          [&](std::size_t parameter) { wait_for(parameter); });
      measured_ = backward_->measures();
    }
  }
  if (batch.size > 0) step_.loss = measured_.ratios()[0];
  if (privacy_ && privacy_->own && roles_.is_worker(rank())) {
    // They are told with gradients, and all workers' count alike.
    step_.share = weight;
    step_.examples = *privacy_->own;
    add_own_noise(step.number);
  }
  if (!sends_gradients_) policy_->prepare(step_);
  if (policy_->exchanges(step_)) start_exchanges();
}

void SyncedWorker::add_own_noise(std::int64_t step) {
  for (const Bucket& bucket : layout_.buckets()) {
    for (const BucketMember& member : bucket.members()) {
      privacy_->noise.add(part_of(bucket.gradient(), member), step,
                          member.parameter);
    }
  }
}

std::int64_t SyncedWorker::first_of(const Batch& batch) const {
  const Shard shard = roles_.shard_of(rank());
  return batch.whole_size * shard.rank / shard.ranks;
}

StepControls SyncedWorker::controls_of(const Batch& batch,
                                       const WorkerStep& step,
                                       double weight) const {
  return {.number = step.number,
          .loss_weight = weight,
          .present = batch.size,
          .first = first_of(batch)};
}

void SyncedWorker::wait_for(std::size_t parameter) {
  for (const std::size_t bucket : layout_.buckets_of(parameter)) settle(bucket);
}

const StepPrice& SyncedWorker::price_of_step(const Batch& batch) {
  const std::vector<NamedTensor> changed = model_.changed_by_runs();
  return computing_->step_price(
      [&](MeasuredRuns runs) {
        return measure_step(*backward_, batch, changed,
                            model_.trainable().size(), runs);
      },
      bytes_of(model_.trainable()));
}

void SyncedWorker::compute_charged(const Batch& batch, const WorkerStep& step,
                                   double weight) {
  const StepPrice& price = price_of_step(batch);
  const double whole =
      computing_->seconds(rank(), step.number, static_cast<double>(batch.size));
  // So much of the price is charged already.
  double charged = 0;
  const auto charge_until = [&](double moment) {
    if (moment <= charged) return;
    group_.network().charge((moment - charged) / price.seconds * whole);
    charged = moment;
  };
  std::vector<std::size_t> order;
  backward_->run(
      batch.tensors, controls_of(batch, step, weight),
      [&](std::size_t parameter) { order.push_back(parameter); },
      [&](std::size_t parameter) {
        if (!overlaps_forward_) return;
        charge_until(price.use_at[parameter]);
        wait_for(parameter);
      });
  for (const std::size_t parameter : order) {
    charge_until(price.gradient_at[parameter]);
    gradient_is_there(parameter);
  }
  charge_until(price.seconds);
}

void SyncedWorker::gradient_is_there(std::size_t parameter) {
  for (const std::size_t bucket : layout_.buckets_of(parameter))
    --missing_[bucket];
  // Without overlap, compute() starts them all when backward is done.
  if (overlaps_) start_exchanges();
}

// Buckets start in their order, whatever the order of the gradients: all
// workers enter the same operations in the same order.
void SyncedWorker::start_exchanges() {
  for (; next_bucket_ < exchanges_.size() && missing_[next_bucket_] == 0;
       ++next_bucket_) {
    if (next_bucket_ == 0) {
      // Forward is over and has read all, so nothing is waited for that could
      // wait: but the step before ends here.
      settle_all();
      has_exchanged_ = true;
      exchanged_in_ = step_;
    }
    Bucket& bucket = layout_.buckets()[next_bucket_];
    exchanges_[next_bucket_] =
        group_.network().submit([this, &bucket, step = step_] {
          return policy_->exchange(bucket, step);
        });
  }
}

void SyncedWorker::reset_carried() { backward_->reset_carried(); }

MeasureSums SyncedWorker::total(const MeasureSums& own) {
  std::vector<double> sums = flat(own);
  group_.run([&] {
    return sum_over_workers(group_.communicator().open({"sum", "scores"}),
                            sums);
  });
  return sums_of(sums);
}

void SyncedWorker::fail(const Error& error) { group_.network().fail(error); }

}  // namespace weft
