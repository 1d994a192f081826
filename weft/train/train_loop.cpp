#include "weft/train/train_loop.h"

#include <algorithm>
#include <cmath>

namespace weft {

MetricDef metric_of(const std::vector<MetricDef>& metrics,
                    std::string_view name) {
  const auto found = std::ranges::find(metrics, name, &MetricDef::name);
  WEFT_CHECK(found != metrics.end(), "the task has no metric '{}'", name);
  return *found;
}

std::int64_t steps_of(const TrainRecipe& train,
                      std::int64_t batches_per_epoch) {
  const std::int64_t all = train.epochs * batches_per_epoch;
  return train.max_steps > 0 ? std::min(all, train.max_steps) : all;
}

TrainLoop::TrainLoop(const Recipe& recipe, const TrainingTask& task,
                     BatchSource& source, Worker& worker,
                     const std::atomic<bool>* stop)
    : recipe_(recipe),
      task_(task),
      metrics_(task.metrics()),
      deciding_(metric_of(metrics_, task.deciding_metric())),
      source_(source),
      worker_(worker),
      stop_(stop),
      began_(worker.now()) {}

void TrainLoop::run() {
  for (const auto& hook : hooks_) hook->on_start(*this);
  while (!is_done()) {
    train_epoch();
    finish_epoch();
  }
}

std::int64_t TrainLoop::steps_in_all() const {
  return steps_of(recipe_.train, source_.batches_per_epoch());
}

// The last one may be cut short by max_steps.
std::int64_t TrainLoop::epochs_in_all() const {
  const std::int64_t batches = source_.batches_per_epoch();
  return (steps_in_all() + batches - 1) / batches;
}

// A run that was killed between its last step and the measuring after it is not
// done yet.
bool TrainLoop::is_done() const {
  return (is_ended_ || steps_done_ >= steps_in_all()) &&
         measured_at_ == steps_done_;
}

void TrainLoop::train_epoch() {
  // A run that goes on within an epoch keeps what the checkpoint had.
  if (position_.batch == 0) {
    sums_ = {};
    worker_.reset_carried();
  }
  // A resumed run may begin anywhere in an epoch.
  source_.seek(position_);
  while (position_.batch < source_.batches_per_epoch() &&
         steps_done_ < steps_in_all()) {
    train_batch();
    for (const auto& hook : hooks_) hook->on_step(*this);
  }
}

// Before whatever looks at the model: the end of an epoch, or of the run, and a
// checkpoint.
bool TrainLoop::must_meet() const {
  const std::int64_t every = recipe_.train.checkpoint_every;
  return is_last_of_epoch() || (every > 0 && (steps_done_ + 1) % every == 0);
}

bool TrainLoop::is_last_of_epoch() const {
  return position_.batch + 1 == source_.batches_per_epoch() ||
         steps_done_ + 1 == steps_in_all();
}

WorkerStep TrainLoop::next_step() const {
  return {.number = steps_done_,
          .epoch = position_.epoch,
          .lr = lr_,
          .wants_stop = stop_ != nullptr && *stop_,
          .must_meet = must_meet()};
}

double TrainLoop::rate_of(std::int64_t step) const {
  return recipe_.optimizer.lr.at(step, steps_in_all(),
                                 source_.batches_per_epoch());
}

void TrainLoop::train_batch() {
  // Waiting for the batch counts, as rates are of what a user waits for.
  const double began = worker_.now();
  const Batch& batch = source_.next();
  batch_ = &batch;
  step_seconds_.waiting = worker_.now() - began;
  lr_ = rate_of(steps_done_);
  for (const auto& hook : hooks_) hook->on_batch(*this);
  WorkerTotals totals;
  try {
    totals = worker_.run(batch, next_step());
  } catch (Error& error) {
    if (error.code() != ErrorCode::kNumeric) throw;
    // People count from 1.
    error.detail(fmt::format("in: step {} (epoch {}, batch {})",
                             steps_done_ + 1, position_.epoch + 1,
                             position_.batch + 1));
    for (const auto& hook : hooks_) hook->on_failure(*this, error);
    error.hint(
        "a smaller optimizer.lr, optimizer.lr.warmup or optimizer.clip_norm "
        "often helps");
    throw;
  }
  note_ = std::move(totals.note);
  // The step is counted before its loss is judged: messages count from 1.
  ++steps_done_;
  ++position_.batch;
  shown_ = position_;
  // Where the loss is no number nothing is saved, so that the checkpoint before
  // stays the last one.
  if (totals.have_met) {
    const double loss = totals.sums.loss();
    // A batch that no example joined by chance has no loss, nor has a rank that
    // only serves where losses are not told.
    const bool is_empty = batch.size == 0 && totals.sums.ratios()[0].count == 0;
    if (!std::isfinite(loss) && !is_empty)
      fail_numeric(fmt::format("the loss is {}", loss));
    sums_.add(totals.sums);
  }
  examples_trained_ += batch.whole_size;
  const double seconds = worker_.now() - began;
  step_seconds_.computing = seconds - step_seconds_.waiting;
  training_seconds_ += seconds;
  if (!totals.is_stopping) return;
  // This comes last: the step is wholly counted, and what is saved is what an
  // uninterrupted run has here.
  Error reason(ErrorCode::kCancelled, "train",
               "interrupted after step {} of {}", steps_done_, steps_in_all());
  for (const auto& hook : hooks_) hook->on_interrupt(*this, reason);
  throw std::move(reason.hint("the same command with --resume continues"));
}

void TrainLoop::finish_epoch() {
  epoch_ = {.epoch = position_.epoch + 1,
            .step = steps_done_,
            .lr = lr_,
            .train = Scores(metrics_, sums_),
            .held_out = {},
            .samples_per_s = samples_per_s(),
            .traffic = {}};
  // Measuring comes before the epoch is counted as done: a run that is killed
  // meanwhile measures again.
  for (const auto& hook : hooks_) hook->on_measure(*this);
  if (position_.batch == source_.batches_per_epoch()) {
    position_ = {position_.epoch + 1, 0};
  }
  // All of this is noted before anything is saved, so that a run which is
  // resumed from there knows that the epoch is done.
  measured_at_ = steps_done_;
  epochs_measured_ = epoch_.epoch;
  last_train_loss_ = epoch_.train.loss();
  epoch_.seconds = seconds();
  for (const auto& hook : hooks_) hook->on_epoch(*this);
}

std::string TrainLoop::where() const {
  return fmt::format("step {} (epoch {}, batch {})", steps_done_,
                     shown_.epoch + 1, shown_.batch);
}

void TrainLoop::fail_numeric(const std::string& what) {
  Error error(ErrorCode::kNumeric, "train", "{} after {}", what, where());
  for (const auto& hook : hooks_) hook->on_failure(*this, error);
  error.hint(
      "--check-numerics names the op in which it first appeared; a smaller "
      "optimizer.lr often helps");
  throw error;
}

TrainProgress TrainLoop::progress() const {
  return {.epoch = shown_.epoch + 1,
          .epochs = epochs_in_all(),
          // Batches are those of all workers together, and the last may not be
          // full.
          .examples = std::min(shown_.batch * recipe_.train.batch,
                               source_.examples_per_epoch()),
          .all_examples = source_.examples_per_epoch(),
          // This is an estimate, in which all batches are alike.
          .examples_left = (steps_in_all() - steps_done_) *
                           source_.examples_per_epoch() /
                           source_.batches_per_epoch(),
          .samples_per_s = samples_per_s(),
          .train = Scores(metrics_, sums_)};
}

double TrainLoop::samples_per_s() const {
  return training_seconds_ > 0
             ? static_cast<double>(examples_trained_) / training_seconds_
             : 0;
}

TrainNumbers TrainLoop::remember() const {
  TrainNumbers numbers{
      {"measured_at_step", static_cast<double>(measured_at_)},
      {"epochs_measured", static_cast<double>(epochs_measured_)},
      {"train_loss", last_train_loss_},
      {"ended_early", is_ended_ ? 1 : 0},
      {"examples", static_cast<double>(examples_trained_)},
      {"training_seconds", training_seconds_},
      {"seconds", seconds()}};
  // The sums of an epoch under way are kept, so that a run which goes on tells
  // the same of it as one that was not interrupted.
  for (std::size_t i = 0; i < sums_.ratios().size(); ++i) {
    numbers[fmt::format("epoch_sum_{}", i)] = sums_.ratios()[i].sum;
    numbers[fmt::format("epoch_count_{}", i)] = sums_.ratios()[i].count;
  }
  for (const auto& hook : hooks_) hook->remember(numbers);
  return numbers;
}

void TrainLoop::recall(std::int64_t step, BatchPosition position,
                       const TrainNumbers& numbers) {
  const auto count = [&](const char* name) {
    return static_cast<std::int64_t>(number_of(numbers, name));
  };
  steps_done_ = step;
  position_ = shown_ = position;
  sums_ = {};
  std::vector<Ratio> ratios;
  // How many measures there are follows from the names.
  for (std::size_t i = 0;; ++i) {
    const auto sum = numbers.find(fmt::format("epoch_sum_{}", i));
    if (sum == numbers.end()) break;
    ratios.push_back(
        {sum->second, number_of(numbers, fmt::format("epoch_count_{}", i))});
  }
  // Checkpoints from before tasks had measures of their own.
  if (ratios.empty() && numbers.contains("epoch_loss_sum")) {
    const double predictions = number_of(numbers, "epoch_count");
    ratios = {{number_of(numbers, "epoch_loss_sum"), predictions},
              {number_of(numbers, "epoch_correct_sum"), predictions}};
  }
  sums_.ratios() = std::move(ratios);
  // An epoch whose last step was saved, and which is still to be measured,
  // tells the rate of that step.
  if (steps_done_ > 0) lr_ = rate_of(steps_done_ - 1);
  measured_at_ = count("measured_at_step");
  epochs_measured_ = count("epochs_measured");
  last_train_loss_ = number_of(numbers, "train_loss", kNotMeasured);
  is_ended_ = number_of(numbers, "ended_early") != 0;
  examples_trained_ = count("examples");
  training_seconds_ = number_of(numbers, "training_seconds");
  earlier_seconds_ = number_of(numbers, "seconds");
  for (const auto& hook : hooks_) hook->recall(numbers);
}

}  // namespace weft
