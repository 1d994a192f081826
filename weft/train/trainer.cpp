#include "weft/train/trainer.h"

#include <cmath>

#include "weft/base/stopwatch.h"
#include "weft/train/assembly.h"
#include "weft/train/checkpoint.h"
#include "weft/train/evaluation.h"
#include "weft/train/metrics_log.h"
#include "weft/train/single_worker.h"
#include "weft/train/sync/agreement.h"
#include "weft/train/sync/exchange.h"
#include "weft/train/sync/synced_worker.h"
#include "weft/train/traffic_log.h"

namespace weft {
namespace {

int ranks_of(const WorkerGroup* group) {
  return group == nullptr ? 1 : group->size();
}

// All workers must have the same data.
Assembly assemble_initialized(const Recipe& recipe, WorkerGroup* group) {
  Assembly assembly = assemble(recipe, ranks_of(group));
  if (group != nullptr) {
    group->agree("data", data_items(assembly.data),
                 "give every worker the same files; data.folder may differ");
  }
  assembly.model->initialize(static_cast<std::uint64_t>(recipe.train.seed));
  return assembly;
}

LoaderOptions sharded(LoaderOptions loading, const WorkerGroup* group) {
  if (group != nullptr) loading.shard = {group->rank(), group->size()};
  return loading;
}

bool is_finite(const Tensor& tensor) {
  for (const float value : tensor.span<float>()) {
    if (!std::isfinite(value)) return false;
  }
  return true;
}

const char* unit_of(const Dataset& data) {
  if (data.is_sequential()) return "windows";
  if (!data.words().empty()) return "trees";
  return data.features()[0].type.shape.rank() == 3 ? "img" : "rows";
}

// Language models are judged by their loss, classifiers by their accuracy,
// equal ones by their loss.
bool is_better(TaskKind task, const Scores& a, const Scores& b) {
  // `b` is the best so far, which is no number before the first measurement.
  if (!std::isfinite(b.loss)) return std::isfinite(a.loss);
  if (task != TaskKind::kLanguageModel && a.accuracy != b.accuracy) {
    return a.accuracy > b.accuracy;
  }
  return a.loss < b.loss;
}

}  // namespace

class Trainer::Run {
 public:
  // `group` is null for one worker.
  Run(Recipe recipe, TrainerOptions options, WorkerGroup* group)
      : recipe_(std::move(recipe)),
        options_(std::move(options)),
        group_(group),
        optimizer_(make_optimizer(recipe_.optimizer)),
        assembly_(assemble_initialized(recipe_, group_)),
        loader_(assembly_.data.train,
                sharded(train_loading(recipe_, *assembly_.data.train), group_)),
        worker_(make_worker()),
        held_out_(*assembly_.model, assembly_.task, assembly_.held_out(),
                  sharded(eval_loading(recipe_), group_), recipe_.train.dtype,
                  tagged_options(recipe_.train)),
        // The folder comes last: it is made only when the recipe, the data and
        // the model have been found to fit.
        folder_(recipe_.log.folder, worker_->is_first()) {}

  TrainResult run(TrainObserver& observer) {
    TrainObserver silent;
    try {
      return train(worker_->is_first() ? observer : silent);
    } catch (const Error& error) {
      // The others would wait for this worker until the timeout.
      worker_->fail(error);
      throw;
    } catch (const std::exception& error) {
      worker_->fail(
          Error(ErrorCode::kInternal, "train", std::string(error.what())));
      throw;
    }
  }

 private:
  std::unique_ptr<Worker> make_worker() {
    const TrainStepOptions settings{
        .dtype = recipe_.train.dtype,
        .clip_norm = recipe_.optimizer.clip_norm.value_or(0),
        .seed = static_cast<std::uint64_t>(recipe_.train.seed),
        .check_numerics = recipe_.train.check_numerics,
        .tagged = tagged_options(recipe_.train)};
    if (group_ == nullptr) {
      return std::make_unique<SingleWorker>(*assembly_.model, assembly_.task,
                                            *optimizer_, loader_.types(),
                                            settings);
    }
    return std::make_unique<SyncedWorker>(*assembly_.model, assembly_.task,
                                          *optimizer_, loader_.types(),
                                          settings, recipe_.sync, *group_);
  }

  // --- The course of a run ---------------------------------------------

  TrainResult train(TrainObserver& observer) {
    if (options_.is_resumed) resume(observer);
    observer.on_start(summary());
    std::optional<MetricsLog> log;
    if (worker_->is_first()) {
      log.emplace(recipe_.log.folder, log_title(), epochs_measured_);
      if (worker_->traffic()) {
        traffic_log_.emplace(recipe_.log.folder, steps_done_);
      }
    }
    while (!is_done()) {
      train_epoch(observer);
      finish_epoch(observer, log);
    }
    return result();
  }

  std::int64_t steps_in_all() const {
    const std::int64_t all = recipe_.train.epochs * loader_.batches_per_epoch();
    const std::int64_t most = recipe_.train.max_steps;
    return most > 0 ? std::min(all, most) : all;
  }

  // The last one may be cut short by max_steps.
  std::int64_t epochs_in_all() const {
    const std::int64_t batches = loader_.batches_per_epoch();
    return (steps_in_all() + batches - 1) / batches;
  }

  // A run that was killed between its last step and the measuring after it
  // is not done yet.
  bool is_done() const {
    return steps_done_ >= steps_in_all() && measured_at_ == steps_done_;
  }

  void train_epoch(TrainObserver& observer) {
    // A run that goes on within an epoch keeps what the checkpoint had.
    if (position_.batch == 0) {
      mean_ = {};
      worker_->reset_carried();
    }
    // A resumed run may begin anywhere in an epoch.
    loader_.seek(position_);
    while (position_.batch < loader_.batches_per_epoch() &&
           steps_done_ < steps_in_all()) {
      train_batch();
      observer.on_step(progress());
      const std::int64_t every = recipe_.train.checkpoint_every;
      // Steps are counted over the whole run, so a resumed one saves at the
      // same steps.
      if (every > 0 && steps_done_ % every == 0) save(/*is_best=*/false);
    }
  }

  void train_batch() {
    // Waiting for the batch counts, as rates are of what a user waits for.
    const Stopwatch watch;
    const Batch& batch = loader_.next();
    lr_ = recipe_.optimizer.lr.at(steps_done_, steps_in_all(),
                                  loader_.batches_per_epoch());
    WorkerTotals totals;
    try {
      totals = worker_->run(
          batch, {.number = steps_done_,
                  .epoch = position_.epoch,
                  .lr = lr_,
                  .wants_stop = options_.stop != nullptr && *options_.stop});
    } catch (Error& error) {
      if (error.code() == ErrorCode::kNumeric) explain_numeric(error);
      throw;
    }
    // The step is counted before its loss is judged: messages count from 1.
    ++steps_done_;
    ++position_.batch;
    // Where the loss is no number nothing is saved, so that the checkpoint
    // before stays the last one.
    const double loss = totals.mean.loss();
    if (!std::isfinite(loss)) fail_numeric(fmt::format("the loss is {}", loss));
    mean_.add(totals.mean);
    examples_trained_ += batch.whole_size;
    training_seconds_ += watch.seconds();
    note_traffic();
    // This comes last: the step is wholly counted, and the checkpoint is what
    // an uninterrupted run has here.
    if (totals.is_stopping) interrupt();
  }

  void note_traffic() {
    const auto traffic = worker_->traffic();
    if (!traffic) return;
    traffic_.add(*traffic);
    if (traffic_log_) traffic_log_->add(steps_done_, *traffic);
  }

  void finish_epoch(TrainObserver& observer, std::optional<MetricsLog>& log) {
    // This is taken before the position moves on to the next epoch.
    const TrainProgress at_end = progress();
    EpochMetrics metrics{.epoch = position_.epoch + 1,
                         .step = steps_done_,
                         .lr = lr_,
                         .train = {mean_.loss(), mean_.accuracy()},
                         .held_out = {},
                         .samples_per_s = at_end.samples_per_s,
                         .traffic = {}};
    // The last step is always measured, whatever eval_every says: a run must
    // end with a score.
    const bool is_last = steps_done_ >= steps_in_all();
    if (is_last || metrics.epoch % recipe_.train.eval_every == 0) {
      // All measure with the same statistics, those of the first worker.
      worker_->share_statistics();
      const RunningMean mean = worker_->total(held_out_.run());
      metrics.held_out = {mean.loss(), mean.accuracy()};
      metrics.is_best = is_better(assembly_.task, metrics.held_out, best_);
    }
    if (metrics.is_best) {
      best_ = metrics.held_out;
      best_epoch_ = metrics.epoch;
    }
    if (position_.batch == loader_.batches_per_epoch()) {
      position_ = {position_.epoch + 1, 0};
    }
    // All of this is noted before save(), so that a run which is resumed from
    // there knows that the epoch is done.
    measured_at_ = steps_done_;
    epochs_measured_ = metrics.epoch;
    last_train_loss_ = metrics.train.loss;
    metrics.seconds = seconds();
    if (worker_->traffic()) metrics.traffic = traffic_.mean();
    save(metrics.is_best);
    // The log follows the checkpoint: what it had beyond one would be measured
    // again.
    if (log) log->add(metrics);
    observer.on_epoch(at_end, metrics);
  }

  [[noreturn]] void interrupt() {
    save(/*is_best=*/false);
    throw Error(ErrorCode::kCancelled, "train",
                "interrupted after step {} of {}", steps_done_, steps_in_all())
        .detail("checkpoint: " + folder_.last_path().string())
        .hint("the same command with --resume continues");
  }

  // --- Numbers that are none -------------------------------------------

  std::string where_now() const {
    return fmt::format("step {} (epoch {}, batch {})", steps_done_,
                       position_.epoch + 1, position_.batch);
  }

  void explain_numeric(Error& error) const {
    error.detail(fmt::format("in: step {} (epoch {}, batch {})",
                             steps_done_ + 1, position_.epoch + 1,
                             position_.batch + 1));
    if (const auto last = folder_.latest()) {
      error.detail("last good checkpoint: " + last->string());
    }
    error.hint(
        "a smaller optimizer.lr, optimizer.lr.warmup or "
        "optimizer.clip_norm often helps");
  }

  [[noreturn]] void fail_numeric(const std::string& what) const {
    Error error(ErrorCode::kNumeric, "train", "{} after {}", what, where_now());
    if (const auto last = folder_.latest()) {
      error.detail("last good checkpoint: " + last->string());
    }
    error.hint(
        "--check-numerics names the op in which it first appeared; a "
        "smaller optimizer.lr often helps");
    throw error;
  }

  // --- Checkpoints -----------------------------------------------------

  void save(bool is_best) {
    for (const NamedTensor& named : worker_->state()) {
      // A checkpoint from which nobody can go on must not replace one from
      // which one can.
      if (!is_finite(named.tensor)) {
        fail_numeric(fmt::format("'{}' holds NaN or infinity", named.name));
      }
    }
    // Counts travel as doubles, which are exact up to 2^53.
    CheckpointInfo info{
        .recipe = recipe_text(),
        .step = steps_done_,
        .position = position_,
        .seed = static_cast<std::uint64_t>(recipe_.train.seed),
        .metrics = {{"epoch_loss_sum", mean_.loss_sum},
                    {"epoch_correct_sum", mean_.correct_sum},
                    {"epoch_count", mean_.count},
                    {"measured_at_step", static_cast<double>(measured_at_)},
                    {"epochs_measured", static_cast<double>(epochs_measured_)},
                    {"train_loss", last_train_loss_},
                    {"best_loss", best_.loss},
                    {"best_accuracy", best_.accuracy},
                    {"best_epoch", static_cast<double>(best_epoch_)},
                    {"examples", static_cast<double>(examples_trained_)},
                    {"training_seconds", training_seconds_},
                    {"seconds", seconds()}}};
    if (worker_->ranks() > 1) {
      // The mark also says that the file holds more than one worker wants: see
      // SingleWorker::restore().
      info.metrics["workers"] = worker_->ranks();
    }
    std::vector<NamedTensor> tensors = worker_->checkpoint();
    // All workers give what they hold; the first one writes.
    if (!worker_->is_first()) return;
    folder_.save({std::move(info), std::move(tensors)}, is_best);
  }

  // Looking for NaN changes no number, so it is no part of the recipe.
  std::string recipe_text() const {
    Recipe recipe = recipe_;
    recipe.train.check_numerics = false;
    return to_toml(recipe);
  }

  void resume(TrainObserver& observer) {
    std::string note;
    const auto file = worker_->newest(folder_.latest(), note);
    if (!note.empty()) observer.on_note(note);
    if (!file) {
      observer.on_note("no checkpoint in " + recipe_.log.folder +
                       " yet: starting from the beginning");
      return;
    }
    note = worker_->restore(*file);
    if (!note.empty()) observer.on_note(note);
    restore(file->info());
    if (file->info().recipe != recipe_text()) {
      observer.on_note("the recipe has changed since " +
                       file->tensors().path().string() +
                       ": the result differs from an uninterrupted run's");
    }
  }

  void restore(const CheckpointInfo& info) {
    const auto metric = [&](const char* name, double missing = 0) {
      const auto found = info.metrics.find(name);
      return found == info.metrics.end() ? missing : found->second;
    };
    const auto count = [&](const char* name) {
      return static_cast<std::int64_t>(metric(name));
    };
    steps_done_ = info.step;
    position_ = info.position;
    mean_.loss_sum = metric("epoch_loss_sum");
    mean_.correct_sum = metric("epoch_correct_sum");
    mean_.count = metric("epoch_count");
    measured_at_ = count("measured_at_step");
    epochs_measured_ = count("epochs_measured");
    last_train_loss_ = metric("train_loss", kNotMeasured);
    best_ = {metric("best_loss", kNotMeasured),
             metric("best_accuracy", kNotMeasured)};
    best_epoch_ = count("best_epoch");
    examples_trained_ = count("examples");
    training_seconds_ = metric("training_seconds");
    earlier_seconds_ = metric("seconds");
  }

  // --- What is reported ------------------------------------------------

  std::string log_title() const {
    return fmt::format("{}: {} on {}", options_.name, recipe_.model.name,
                       recipe_.data.name);
  }

  TrainSummary summary() const {
    return {.name = options_.name,
            .task = assembly_.task,
            .model = recipe_.model.name,
            .data = recipe_.data.name,
            .unit = unit_of(*assembly_.data.train),
            .dtype = recipe_.train.dtype,
            .parameters = assembly_.model->parameter_count(),
            .train_examples = loader_.examples_per_epoch(),
            .held_out_examples = held_out_.examples(),
            .first_step = steps_done_,
            .workers = worker_->ranks(),
            .sync = worker_->text()};
  }

  TrainProgress progress() const {
    return {.epoch = position_.epoch + 1,
            .epochs = epochs_in_all(),
            // Batches are those of all workers together, and the last may not
            // be full.
            .examples = std::min(position_.batch * recipe_.train.batch,
                                 loader_.examples_per_epoch()),
            .all_examples = loader_.examples_per_epoch(),
            // This is an estimate, in which all batches are alike.
            .examples_left = (steps_in_all() - steps_done_) *
                             loader_.examples_per_epoch() /
                             loader_.batches_per_epoch(),
            .samples_per_s = samples_per_s(),
            .train = {mean_.loss(), mean_.accuracy()}};
  }

  double samples_per_s() const {
    return training_seconds_ > 0
               ? static_cast<double>(examples_trained_) / training_seconds_
               : 0;
  }

  double seconds() const { return earlier_seconds_ + watch_.seconds(); }

  TrainResult result() {
    return {.steps = steps_done_,
            .epochs = epochs_measured_,
            .seconds = seconds(),
            .train_loss = last_train_loss_,
            .test = test_scores(),
            .best_epoch = best_epoch_,
            .samples_per_s = samples_per_s(),
            .workers = worker_->ranks(),
            .traffic = worker_->traffic() ? std::optional(traffic_.mean())
                                          : std::nullopt,
            .checkpoint = folder_.best_path()};
  }

  // The best weights on the test data: measured now where another part of
  // the data chose them. The first worker reads them and measures alone.
  Scores test_scores() {
    if (!assembly_.data.valid || !worker_->is_first()) return best_;
    const CheckpointFile best(folder_.best_path());
    for (const auto& named : assembly_.model->parameters()) {
      // Evaluation carries a state of its own, from zero.
      if (named.parameter->role == nn::Role::kCarried) continue;
      // Training is over, so the model's memory may take other weights.
      named.parameter->variable.tensor().copy_from(
          best.tensors().read(named.name));
    }
    const RunningMean mean =
        Evaluation(*assembly_.model, assembly_.task, assembly_.data.test,
                   eval_loading(recipe_), recipe_.train.dtype,
                   tagged_options(recipe_.train))
            .run();
    return {mean.loss(), mean.accuracy()};
  }

  Recipe recipe_;
  TrainerOptions options_;
  WorkerGroup* group_;
  std::unique_ptr<Optimizer> optimizer_;
  Assembly assembly_;
  Loader loader_;
  std::unique_ptr<Worker> worker_;
  Evaluation held_out_;
  CheckpointFolder folder_;
  Stopwatch watch_;

  std::int64_t steps_done_ = 0;
  LoaderPosition position_;  // of the next batch
  RunningMean mean_;         // over the epoch so far
  double lr_ = 0;
  std::optional<TrafficLog> traffic_log_;
  TrafficMean traffic_;            // since this process began
  std::int64_t measured_at_ = -1;  // steps_done_ when last measured
  std::int64_t epochs_measured_ = 0;
  double last_train_loss_ = kNotMeasured;
  Scores best_;
  std::int64_t best_epoch_ = 0;
  std::int64_t examples_trained_ = 0;
  double training_seconds_ = 0;
  double earlier_seconds_ = 0;
};

Trainer::Trainer(Recipe recipe, TrainerOptions options) {
  if (options.transport == nullptr) {
    run_ =
        std::make_unique<Run>(std::move(recipe), std::move(options), nullptr);
    return;
  }
  group_ =
      std::make_unique<WorkerGroup>(*options.transport, recipe.sync.timeout);
  try {
    group_->agree("recipe", recipe_items(recipe, options.is_resumed),
                  "start every worker with the same recipe and options");
    // The ranks are checked once all have the same recipe: all of them throw
    // then, for the same reason.
    check_ranks(recipe.sync, group_->size());
    run_ = std::make_unique<Run>(std::move(recipe), std::move(options),
                                 group_.get());
  } catch (const Error& error) {
    group_->network().fail(error);
    throw;
  }
}

Trainer::~Trainer() = default;

TrainResult Trainer::run(TrainObserver& observer) {
  return run_->run(observer);
}

}  // namespace weft
