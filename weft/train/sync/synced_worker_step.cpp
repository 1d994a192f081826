// What a worker does in a step: it computes, exchanges meanwhile, and counts.
// How it was set up is in synced_worker.cpp.
#include <algorithm>
#include <utility>

#include "weft/train/sync/gather.h"
#include "weft/train/sync/synced_worker.h"

namespace weft {
namespace {

// Which part of what overlap could save a step has saved (transfer_order.h).
double efficiency_of(double computing, double wire, double step) {
  const TransferSchedule schedule{.makespan = step,
                                  .total = computing + wire,
                                  .bound = std::max(computing, wire)};
  return std::clamp(schedule.efficiency(), 0.0, 1.0);
}

// Moments of a step, and how long it waited for exchanges: before it applied
// them, and in all.
struct StepTimes {
  double began = 0;
  double computed = 0;
  double ended = 0;
  double exposed = 0;
  double waited = 0;
};

StepTraffic traffic_of_step(const Traffic& before, const Traffic& after,
                            const StepTimes& times) {
  const double wire = after.busy_seconds - before.busy_seconds;
  const double computing = times.computed - times.began;
  const double seconds = times.ended - times.began;
  return {
      .bytes_sent = static_cast<double>(after.bytes_sent - before.bytes_sent),
      .bytes_received =
          static_cast<double>(after.bytes_received - before.bytes_received),
      .wire_seconds = wire,
      // The clocks are read at slightly different moments, so the difference is
      // kept within what it can be.
      .hidden_seconds = std::clamp(wire - times.exposed, 0.0, computing),
      .seconds = seconds,
      .efficiency = efficiency_of(computing - times.waited, wire, seconds)};
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

}  // namespace

WorkerTotals SyncedWorker::run(const Batch& batch, const WorkerStep& step) {
  StepTimes times{.began = now()};
  const Traffic before = group_.network().traffic();
  const bool is_measured = begin_step(batch, step);
  compute(batch, step);
  count(batch, step);
  // What is waited for from here on was not hidden behind computing.
  times.computed = now();
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
  times.exposed = now() - times.computed + waited_;
  if (have_met || !overlaps_forward_) settle_all();
  times.ended = now();
  times.waited = waited_;
  traffic_ = traffic_of_step(before, group_.network().traffic(), times);
  traffic_->density = sum_density;
  traffic_->xi = drift.xi;
  traffic_->drift = drift.drift;
  WorkerTotals result;
  result.have_met = have_met;
  if (have_met) take_totals(votes, result);
  traffic_->figures = policy_->figures();
  return result;
}

// Says whether the step's drift is measured.
bool SyncedWorker::begin_step(const Batch& batch, const WorkerStep& step) {
  step_ = {.number = step.number,
           .epoch = step.epoch,
           .lr = step.lr,
           .examples = batch.size,
           .must_meet = step.must_meet};
  missing_ = layout_.parameters_in();
  next_bucket_ = 0;
  waited_ = 0;
  if (priorities_of_step_) {
    layout_.set_priorities(priorities_of_step_(step.number));
  }
  const bool is_measured =
      // Steps are counted from 1, as in the log.
      drift_meter_ && (step.number + 1) % measure_every_ == 0;
  // The meter's all-reduce comes before the first exchange on all workers, so
  // that they enter operations in one order.
  if (is_measured) drift_meter_->begin_step();
  return is_measured;
}

// What all have summed, after the last `votes` of it were counted.
void SyncedWorker::take_totals(std::size_t votes, WorkerTotals& result) {
  const auto counted = totals_.end() - static_cast<std::ptrdiff_t>(votes);
  result.note = policy_->count_votes(step_, {counted, totals_.end()});
  totals_.erase(counted, totals_.end());
  result.is_stopping = totals_.back() > 0;
  totals_.pop_back();
  result.sums = privacy_ && privacy_->own ? std::exchange(untold_, {})
                                          : sums_of(std::exchange(totals_, {}));
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
    if (touched_) {
      policy_->begin(step_, touched_->of(batch.tensors, step.number));
    }
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
    // Such a step leaves no gradients that could be missing.
    if (touched_) std::ranges::fill(missing_, 0);
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
  return {.lr = step.lr,
          .number = step.number,
          .loss_weight = weight,
          .present = batch.size,
          .first = first_of(batch)};
}

void SyncedWorker::wait_for(std::size_t parameter) {
  for (const std::size_t bucket : layout_.buckets_of(parameter)) settle(bucket);
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

MeasureSums SyncedWorker::total(const MeasureSums& own) {
  std::vector<double> sums = flat(own);
  group_.run([&] {
    return sum_over_workers(group_.communicator().open({"sum", "scores"}),
                            sums);
  });
  return sums_of(sums);
}

}  // namespace weft
