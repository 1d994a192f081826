#include "weft/train/sync/synced_worker.h"

#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>
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
                             const WorkerGroup& group) {
  const int workers = Roles(group.size(), recipe.servers).workers();
  // A run that waits for parameters steps aside in its middle, and so needs a
  // plan to itself.
  if (recipe.overlap_forward) options.executables = nullptr;
  // Each worker drops out others. In private training examples draw by their
  // place in the whole batch.
  if (!options.privacy)
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

std::vector<NamedTensor> values_of(std::span<const Slice> slices) {
  std::vector<NamedTensor> values;
  for (const Slice& slice : slices) values.push_back(slice.values);
  return values;
}

// The buckets that hold something of each parameter.
std::vector<std::vector<std::size_t>> buckets_of(
    std::span<const Bucket> buckets, std::span<const Slice> slices,
    std::size_t parameters) {
  std::vector<std::vector<std::size_t>> result(parameters);
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    for (const BucketMember& member : buckets[b].members()) {
      result[slices[member.parameter].parameter].push_back(b);
    }
  }
  return result;
}

// Where backward writes each parameter's gradient: into the buckets themselves,
// so that nothing is copied before it travels.
std::vector<Tensor> gradients_in(std::span<const Bucket> buckets,
                                 std::span<const Slice> slices,
                                 std::span<const NamedTensor> trainable) {
  std::vector<Tensor> gradients(trainable.size());
  for (const Bucket& bucket : buckets) {
    for (const BucketMember& member : bucket.members()) {
      const Slice& slice = slices[member.parameter];
      if (slice.begin > 0) continue;
      gradients[slice.parameter] = bucket.gradient_from(
          member, trainable[slice.parameter].tensor.shape());
    }
  }
  return gradients;
}

// "rank 2", "ranks 1, 3".
std::string ranks_text(const std::vector<int>& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s",
                     fmt::join(ranks, ", "));
}

// What a worker has beside what is trained and carried: running statistics, and
// what is frozen.
std::vector<NamedTensor> kept_beside(const StepDescription& description) {
  std::vector<NamedTensor> kept;
  for (const Entry& entry : description.entries()) {
    if (is_state(entry.role) && entry.role != EntryRole::kParameter &&
        entry.role != EntryRole::kCarried && entry.role != EntryRole::kSlot) {
      kept.push_back({entry.name, entry.memory});
    }
  }
  return kept;
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

std::string carried_name(int rank, const std::string& name) {
  return fmt::format("sync.carried.{}.{}", rank, name);
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
          backward_options(description.options(), recipe, group))),
      trainable_(description_.tensors(EntryRole::kParameter)),
      slices_(
          cut_into_slices(trainable_, recipe.slices ? recipe.bucket_bytes : 0)),
      exchanged_(values_of(slices_)),
      statistics_(kept_beside(description_)),
      batch_statistics_(description_.tensors(EntryRole::kStatistic)),
      carried_(description_.tensors(EntryRole::kCarried)),
      buckets_(make_buckets(exchanged_, bytes_of_buckets(recipe, optimizer))),
      buckets_of_(buckets_of(buckets_, slices_, trainable_.size())),
      measure_every_(recipe.measure_every),
      is_sparsified_(recipe.sparsify != "none" &&
                     policy_of(recipe).def->leaves_sums),
      sends_gradients_(policy_of(recipe).def->sends_gradients),
      overlaps_(recipe.overlap && sends_gradients_),
      overlaps_forward_(recipe.overlap_forward),
      missing_(buckets_.size()),
      exchanges_(buckets_.size()) {
  // Mistakes of the recipe are told before anything is exchanged.
  check_sync(recipe, optimizer);
  check_memory(recipe, group_.transport());
  share_initial_weights();
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
  const auto gradients = gradients_in(buckets_, slices_, trainable_);
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
       .trainable = exchanged_,
       .statistics = batch_statistics_,
       .buckets = buckets_});
  if (privacy) policy_ = with_noise(std::move(policy_), privacy->noise);
  for (const auto* part : {&trainable_, &statistics_, &carried_}) {
    state_.insert(state_.end(), part->begin(), part->end());
  }
  // Tensors of other ranks are undefined here, and are theirs to look at.
  for (const OwnedTensor& owned : policy_->state()) {
    if (owned.tensor.is_defined()) {
      state_.push_back({owned.name, owned.tensor});
    }
  }
  // A value from the start tells the trainer to keep a log of it.
  traffic_.emplace();
  if (measure_every_ > 0) {
    drift_meter_.emplace(group_, buckets_, policy_->state(), settled,
                         description.options().seed);
  }
}

SyncedWorker::~SyncedWorker() = default;

void SyncedWorker::find_unread() {
  const std::vector<std::int64_t> uses = backward_->first_uses();
  std::set<std::size_t> unread;
  parameters_of_.assign(buckets_.size(), 0);
  for (std::size_t i = 0; i < uses.size(); ++i) {
    for (const std::size_t bucket : buckets_of_[i]) {
      ++parameters_of_[bucket];
      if (uses[i] == Step::kNeverUsed) unread.insert(bucket);
    }
  }
  unread_.assign(unread.begin(), unread.end());
}

// Messages of a bucket are as urgent as the most urgent of its members.
void SyncedWorker::prioritize(const SyncRecipe& settled, std::uint64_t seed) {
  const std::vector<NamedTensor> changed = changed_by_runs();
  const std::vector<double> bytes = bytes_of(trainable_);
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
  for (Bucket& bucket : buckets_) {
    int most = std::numeric_limits<int>::lowest();
    for (const BucketMember& member : bucket.members()) {
      most = std::max(most,
                      agreed.priorities[slices_[member.parameter].parameter]);
    }
    bucket.set_priority(most);
  }
}

// The same seed gives the same weights, unless machines compute them
// differently.
void SyncedWorker::share_initial_weights() {
  std::vector<NamedTensor> weights = trainable_;
  weights.insert(weights.end(), statistics_.begin(), statistics_.end());
  std::string sums;
  for (const NamedTensor& named : weights) sums += checksum_of(named.tensor);
  const auto others = group_.others("initial weights", sums);
  if (others.empty()) return;
  group_.run([&] {
    return broadcast_tensors(
        group_.communicator().open({"broadcast", "initial weights"}), 0,
        weights);
  });
  chosen_ = fmt::format("initial weights of rank 0, as {} had others",
                        ranks_text(others));
}

void SyncedWorker::check_copies() {
  std::vector<AgreedItem> items;
  for (const NamedTensor& named : trainable_) {
    items.push_back({named.name, checksum_of(named.tensor)});
  }
  // A rank that only serves has no copy that anybody computes with.
  const bool has_copy = roles_.is_worker(rank());
  group_.agree(fmt::format("parameters after step {}", step_.number + 1), items,
               "copies that were equal have come apart: a defect of Weft, or "
               "of one of these machines",
               has_copy);
}

SyncRecipe SyncedWorker::settle(SyncRecipe recipe) {
  if (recipe.codec != "auto") return recipe;
  const Topology topology =
      network_of(group_.communicator(), group_.network(), recipe.topology)
          .topology;
  double bytes = 0;
  for (const Bucket& bucket : buckets_) {
    bytes += static_cast<double>(bucket.bytes());
  }
  const AutoCodec choice = choose_codec(group_.communicator(), group_.network(),
                                        topology, bytes, policy_of(recipe));
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
  return computing_->sync_price(
      [&] { return measure_sync(settled, roles_, optimizer, trainable_); });
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
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    missing_[b] = parameters_of_[b];
  }
  next_bucket_ = 0;
  waited_ = 0;
  const bool is_measured =
      // Steps are counted from 1, as in the log.
      drift_meter_ && (step.number + 1) % measure_every_ == 0;
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
    if (is_sparsified_) sum_density = density();
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
  result.sums = sums_of(std::exchange(totals_, {}));
  return result;
}

// Adds the measures of this worker's part, and whether it was asked to end, to
// what others are not told yet.
void SyncedWorker::count(const Batch& batch, const WorkerStep& step) {
  const MeasureSums own =
      batch.size > 0 ? measured_
                     : MeasureSums(backward_->measures().ratios().size());
  std::vector<double> totals = flat(own);
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
  policy_->apply(buckets_[bucket], exchanged_in_);
}

void SyncedWorker::settle_all() {
  if (!has_exchanged_) return;
  for (std::size_t b = 0; b < buckets_.size(); ++b) settle(b);
  policy_->end_step(exchanged_in_);
  has_exchanged_ = false;
}

double SyncedWorker::density() const {
  std::size_t all = 0;
  std::size_t set = 0;
  for (const Bucket& bucket : buckets_) {
    for (const BucketMember& member : bucket.members()) {
      const auto sum = part_of(bucket.gradient(), member);
      all += sum.size();
      set += sum.size() - static_cast<std::size_t>(std::ranges::count(sum, 0));
    }
  }
  return static_cast<double>(set) / static_cast<double>(all);
}

double SyncedWorker::weight_of(const Batch& batch, std::int64_t step) {
  // The gradient is of the mean over this worker's own part.
  if (!sends_gradients_) return 1;
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
    for (const Bucket& bucket : buckets_) {
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
  if (!sends_gradients_) policy_->prepare(step_);
  if (policy_->exchanges(step_)) start_exchanges();
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
  for (const std::size_t bucket : buckets_of_[parameter]) settle(bucket);
}

std::vector<NamedTensor> SyncedWorker::changed_by_runs() const {
  std::vector<NamedTensor> changed = statistics_;
  changed.insert(changed.end(), carried_.begin(), carried_.end());
  return changed;
}

const StepPrice& SyncedWorker::price_of_step(const Batch& batch) {
  const std::vector<NamedTensor> changed = changed_by_runs();
  return computing_->step_price(
      [&](MeasuredRuns runs) {
        return measure_step(*backward_, batch, changed, trainable_.size(),
                            runs);
      },
      bytes_of(trainable_));
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
  for (const std::size_t bucket : buckets_of_[parameter]) --missing_[bucket];
  // Without overlap, compute() starts them all when backward is done.
  if (overlaps_) start_exchanges();
}

// Buckets start in their order, whatever the order of the gradients: all
// workers enter the same operations in the same order.
void SyncedWorker::start_exchanges() {
  for (; next_bucket_ < buckets_.size() && missing_[next_bucket_] == 0;
       ++next_bucket_) {
    if (next_bucket_ == 0) {
      // Forward is over and has read all, so nothing is waited for that could
      // wait: but the step before ends here.
      settle_all();
      has_exchanged_ = true;
      exchanged_in_ = step_;
    }
    Bucket& bucket = buckets_[next_bucket_];
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

void SyncedWorker::share_statistics() {
  group_.run([&] {
    return broadcast_tensors(
        group_.communicator().open({"broadcast", "statistics"}), 0,
        statistics_);
  });
}

std::vector<OwnedTensor> SyncedWorker::distributed_state() const {
  std::vector<OwnedTensor> result = policy_->state();
  for (int rank = 0; rank < ranks(); ++rank) {
    for (const NamedTensor& named : carried_) {
      result.push_back({carried_name(rank, named.name), named.tensor.type(),
                        rank, rank == this->rank() ? named.tensor : Tensor()});
    }
  }
  return result;
}

std::vector<NamedTensor> SyncedWorker::checkpoint() {
  // A checkpoint is worth a checksum of each parameter: copies that have come
  // apart are found before they are saved.
  check_copies();
  std::vector<NamedTensor> result = trainable_;
  result.insert(result.end(), statistics_.begin(), statistics_.end());
  std::vector<OwnedTensor> owned = distributed_state();
  group_.run([&] {
    return gather_tensors(group_.communicator().open({"gather", "checkpoint"}),
                          0, owned);
  });
  if (!is_first()) return {};
  for (OwnedTensor& each : owned) {
    result.push_back({std::move(each.name), std::move(each.tensor)});
  }
  return join_slices(std::move(result), trainable_);
}

std::optional<CheckpointFile> SyncedWorker::newest(
    const std::optional<std::filesystem::path>& own, std::string& note) {
  std::vector<int> given;
  auto file = group_.share_checkpoint(own, given);
  if (file && !given.empty()) {
    note = fmt::format("{} continue{} from the checkpoint of rank 0",
                       ranks_text(given), given.size() == 1 ? "s" : "");
  }
  return file;
}

std::string SyncedWorker::restore(const CheckpointFile& file) {
  const auto workers = file.info().metrics.find("workers");
  const int saved = workers == file.info().metrics.end()
                        ? 1
                        : static_cast<int>(workers->second);
  std::vector<CheckpointFile::Wanted> wanted;
  std::vector<Tensor> targets;
  for (const auto* part : {&trainable_, &statistics_}) {
    for (const NamedTensor& named : *part) {
      wanted.push_back({named.name, named.tensor.type()});
      targets.push_back(named.tensor);
    }
  }
  // Where an epoch begins, what is carried is zero whoever saved it. Within
  // one, its lanes are those of so many workers.
  if (!carried_.empty() && file.info().position.batch > 0) {
    if (saved != ranks()) {
      throw refused(file.tensors().path().string(), "this checkpoint",
                    {fmt::format("{} workers", ranks()),
                     fmt::format("{} saved it within an epoch of a model that "
                                 "carries state from batch to batch",
                                 saved),
                     fmt::format("continue with {} workers", saved)},
                    ErrorCode::kUnsupported);
    }
    for (const NamedTensor& named : carried_) {
      wanted.push_back(
          {saved == 1 ? named.name : carried_name(rank(), named.name),
           named.tensor.type()});
      targets.push_back(named.tensor);
    }
  }
  // The rest of the file is the policy's, which reads it by name below.
  const std::vector<Tensor> tensors = file.read(wanted, /*allow_more=*/true);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    targets[i].copy_from(tensors[i]);
  }
  const SafetensorsFile& saved_tensors = file.tensors();
  const auto read = [&](const std::string& name) {
    return saved_tensors.find(name) == nullptr ? Tensor()
                                               : saved_tensors.read(name);
  };
  return policy_->restore(
      [&](const std::string& name) { return read_slice(name, read); }, saved);
}

void SyncedWorker::fail(const Error& error) { group_.network().fail(error); }

}  // namespace weft
