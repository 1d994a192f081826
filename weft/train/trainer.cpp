#include "weft/train/trainer.h"

#include <fmt/ranges.h>

#include "weft/base/file.h"
#include "weft/train/data_schema.h"
#include "weft/train/files/checkpoint.h"
#include "weft/train/final_scores.h"
#include "weft/train/hooks/log.h"
#include "weft/train/hooks/measure.h"
#include "weft/train/hooks/narrate.h"
#include "weft/train/hooks/save.h"
#include "weft/train/hooks/stop_early.h"
#include "weft/train/memory_forecast.h"
#include "weft/train/private_run.h"
#include "weft/train/private_worker.h"
#include "weft/train/recipe/section_def.h"
#include "weft/train/run_recorder.h"
#include "weft/train/step/evaluation.h"
#include "weft/train/step/private_objective.h"
#include "weft/train/step/single_worker.h"
#include "weft/train/sync/agreement.h"
#include "weft/train/sync/exchange.h"
#include "weft/train/sync/part_of_rank.h"
#include "weft/train/sync/synced_worker.h"
#include "weft/train/train_loop.h"

namespace weft {
namespace {

// All workers must have the same data.
Assembly assemble_initialized(const Recipe& recipe, const GivenObjects& given,
                              WorkerGroup* group,
                              std::optional<PrivateRun>& privacy) {
  // One looks for all of them, as they have the same data.
  if (group == nullptr || group->rank() == 0) check_schema(recipe.data);
  const int workers = group == nullptr
                          ? 1
                          : Roles(group->size(), recipe.sync.servers).workers();
  Assembly assembly =
      assemble(recipe, workers, given,
               privacy ? std::optional(privacy->sampling()) : std::nullopt);
  if (privacy) privacy->fit(recipe, assembly);
  if (group != nullptr) {
    // The agreement comes before weights are made: workers with other data
    // would train to the end, on sums that mean nothing.
    std::vector<AgreedItem> items;
    for (auto& [name, value] : assembly.data->fingerprint()) {
      items.push_back({std::move(name), std::move(value)});
    }
    group->agree("data", items,
                 "give every worker the same files; data.folder may differ");
  }
  assembly.model->initialize(static_cast<std::uint64_t>(recipe.train.seed));
  return assembly;
}

std::optional<PrivateRun> private_run(const Recipe& recipe,
                                      const TrainerOptions& options,
                                      WorkerGroup* group) {
  if (!recipe.privacy.is_on()) return std::nullopt;
  return PrivateRun(recipe, group, options.given, options.is_resumed);
}

StepOptions options_of_steps(const Recipe& recipe,
                             const TrainerOptions& options) {
  StepOptions result = step_options(recipe);
  result.executables = options.executables;
  return result;
}

}  // namespace

class Trainer::Run {
 public:
  // `group` is null for one worker.
  Run(Recipe recipe, TrainerOptions options, WorkerGroup* group)
      : recipe_(std::move(recipe)),
        options_(std::move(options)),
        privacy_(private_run(recipe_, options_, group)),
        assembly_(
            assemble_initialized(recipe_, options_.given, group, privacy_)),
        source_(part_of_rank(
            recipe_.sync, group,
            [&](const Shard& shard) { return assembly_.data->train(shard); })),
        description_(*assembly_.model, *assembly_.task, source_->inputs(),
                     // The policy of several workers decides who updates what.
                     options_of_steps(recipe_, options_),
                     group == nullptr ? assembly_.optimizer.get() : nullptr),
        worker_(make_worker(group)),
        held_out_(description_.in_use(*assembly_.optimizer, worker_->state()),
                  part_of_rank(recipe_.sync, group,
                               [&](const Shard& shard) {
                                 return assembly_.data->measure(
                                     assembly_.held_out(), shard);
                               })),
        // The folder comes late: it is made only when the recipe, the data and
        // the model have been found to fit.
        folder_(recipe_.log.folder, worker_->is_first()),
        loop_(recipe_, *assembly_.task, *source_, *worker_, options_.stop) {
    source_->answer_with(answer_of(description_));
    // Hooks are called in this order: what is measured decides whether to stop
    // and what is saved.
    measure_ = add<MeasureHook>(*assembly_.task, held_out_);
    if (recipe_.train.patience > 0) {
      add<StopEarlyHook>(recipe_.train.patience, *measure_);
    }
    // The checkpoint follows the log: an epoch that a run which is killed in
    // between has only logged is measured again, whereas one that was only
    // saved would be missing in the log for ever.
    log_ = add<LogHook>(fmt::format("{}: {} on {}", options_.name,
                                    recipe_.model.name, recipe_.data.name));
    add<SaveHook>(folder_, kept_text(recipe_),
                  marks_of(assembly_.data->description()));
    for (auto& hook : section_hooks(recipe_)) loop_.add(std::move(hook));
  }

  void add_hook(std::unique_ptr<TrainHook> hook) { loop_.add(std::move(hook)); }

  TrainResult run(TrainObserver& observer) {
    TrainObserver silent;
    // The others would tell the same.
    TrainObserver& told = worker_->is_first() ? observer : silent;
    try {
      add<NarrateHook>(told);
      const bool goes_on = options_.is_resumed && resume(told);
      // Whoever waits for an epoch should not learn only then.
      require_room();
      begin_record(goes_on, told);
      told.on_start(summary());
      if (privacy_) {
        told.on_note(privacy_->text());
        privacy_->keep_key(recipe_.log.folder);
        const std::string granted = privacy_->admit(options_.name);
        if (!granted.empty()) told.on_note(granted);
      }
      loop_.run();
      const TrainResult reached = result();
      recorder_.end({.state = RunState::kDone,
                     .test = reached.test,
                     .epochs = reached.epochs,
                     .best_epoch = reached.best_epoch,
                     .seconds = reached.seconds});
      // Until all is measured and recorded, a run that is killed can be
      // resumed, for which it needs its key.
      if (privacy_) privacy_->forget_key(recipe_.log.folder);
      return reached;
    } catch (const Error& error) {
      // The others would wait for this worker until the timeout.
      worker_->fail(error);
      record_failure(error);
      throw;
    } catch (const std::exception& error) {
      const Error told_others(ErrorCode::kInternal, "train",
                              std::string(error.what()));
      worker_->fail(told_others);
      record_failure(told_others);
      throw;
    }
  }

 private:
  template <class Hook, class... Arguments>
  Hook* add(Arguments&&... arguments) {
    auto hook = std::make_unique<Hook>(std::forward<Arguments>(arguments)...);
    Hook* result = hook.get();
    loop_.add(std::move(hook));
    return result;
  }

  std::unique_ptr<Worker> make_worker(WorkerGroup* group) {
    std::optional<PrivateSync> privacy;
    if (privacy_) {
      require_examples_apart(description_);
      privacy = {.noise = privacy_->noise(),
                 .own = privacy_->own_examples(),
                 .one_by_one_norm = privacy_->one_by_one_norm()};
    }
    if (group != nullptr) {
      return std::make_unique<SyncedWorker>(description_, *assembly_.optimizer,
                                            recipe_.sync, *group,
                                            options_.computing, privacy);
    }
    if (!privacy) return std::make_unique<SingleWorker>(description_);
    return std::make_unique<PrivateWorker>(description_, privacy->noise,
                                           privacy->one_by_one_norm);
  }

  void require_room() {
    double needed = 0;
    try {
      needed = static_cast<double>(worker_->step_bytes());
    } catch (Error& error) {
      // Planning takes the memory, where a limit refuses it at once.
      // Where the recipe has a limit of its own, the error says the least one.
      if (error.code() == ErrorCode::kExhausted && recipe_.train.memory == 0) {
        error.hint(
            "a smaller train.batch takes less, and with train.memory values "
            "are computed again; --dry-run says how much");
      }
      throw;
    }
    require_memory(recipe_, needed);
  }

  // Whether there is something to go on from.
  bool resume(TrainObserver& observer) {
    std::string note;
    const auto file = worker_->newest(folder_.latest(), note);
    if (!note.empty()) observer.on_note(note);
    if (!file) {
      observer.on_note("no checkpoint in " + recipe_.log.folder +
                       " yet: starting from the beginning");
      return false;
    }
    const CheckpointInfo& info = file->info();
    const auto changed =
        differing(info.data, marks_of(assembly_.data->description()));
    if (privacy_) privacy_->require_same(recipe_, info.recipe, changed);
    note = worker_->restore(*file);
    if (!note.empty()) observer.on_note(note);
    loop_.recall(info.step, info.position, info.metrics);
    if (loop_.is_ended() && loop_.steps_done() < loop_.steps_in_all()) {
      judge_end(info.recipe, observer);
    }
    if (!is_same_recipe(info.recipe)) {
      observer.on_note("the recipe has changed since " +
                       file->tensors().path().string() +
                       ": the result differs from an uninterrupted run's");
    }
    if (!changed.empty()) {
      observer.on_note(fmt::format(
          "the data have changed since {}: {} differ, by which the model was "
          "trained so far",
          file->tensors().path().string(), fmt::join(changed, ", ")));
    }
    return true;
  }

  // A run that ended early is over, unless it now has more patience than by
  // `recipe`, which it was trained by.
  void judge_end(const std::string& recipe, TrainObserver& observer) {
    const std::int64_t patience = recipe_.train.patience;
    const std::int64_t waited =
        loop_.epochs_measured() - measure_->best_epoch();
    if ((patience == 0 || waited < patience) &&
        parse_recipe(recipe, "checkpoint").train.patience != patience) {
      return loop_.go_on();
    }
    observer.on_note(
        fmt::format("the run ended early, after epoch {}: it goes on with more "
                    "train.patience, or with 0",
                    loop_.epochs_measured()));
  }

  // The folder says from now on what it is of: the recipe, and that it runs.
  void begin_record(bool goes_on, TrainObserver& observer) {
    if (!worker_->is_first()) return;
    // A run that begins must neither go on from what an earlier one has left
    // there nor call it its best; who forgot --resume has it still.
    if (const auto earlier = goes_on ? std::nullopt : folder_.set_aside()) {
      observer.on_note("the checkpoints of an earlier run are now in " +
                       earlier->string() + ", in place of any there");
    }
    write_file(std::filesystem::path(recipe_.log.folder) / "recipe.toml",
               kept_text(recipe_));
    RunRecord record = new_record();
    record.name = options_.name;
    record.task = recipe_.task.name;
    record.model = recipe_.model.name;
    record.data = recipe_.data.name;
    record.epochs = recipe_.train.epochs;
    record.outcome.deciding = loop_.deciding_metric();
    recorder_.begin(recipe_.log.folder, std::move(record));
  }

  void record_failure(const Error& error) {
    // Where a rank is lost, a launcher kills this one within a second, in which
    // the reason must be told. Of a run that is gone the record need not say
    // so.
    if (error.code() == ErrorCode::kUnavailable && worker_->ranks() > 1) return;
    recorder_.fail(error, {.epochs = loop_.epochs_measured(),
                           .best_epoch = measure_->best_epoch(),
                           .seconds = loop_.seconds()});
  }

  // A checkpoint of an older Weft says less; what it leaves out had the values
  // that are defaults now.
  bool is_same_recipe(const std::string& text) const {
    const std::string own = kept_text(recipe_);
    return text == own || to_toml(parse_recipe(text, "checkpoint")) == own;
  }

  TrainSummary summary() const {
    const DataDescription& data = assembly_.data->description();
    return {.name = options_.name,
            .task = recipe_.task.name,
            .metrics = loop_.metrics(),
            .deciding = loop_.deciding_metric(),
            .model = recipe_.model.name,
            .data = recipe_.data.name,
            .unit = assembly_.task->unit(data),
            .dtype = recipe_.train.dtype,
            .parameters = assembly_.model->parameter_count(),
            .train_examples = source_->examples_per_epoch(),
            .held_out_examples = held_out_.examples(),
            .first_step = loop_.steps_done(),
            .workers = worker_->ranks(),
            .sync = worker_->text()};
  }

  TrainResult result() {
    if (!measure_->best().is_measured()) {
      throw Error(ErrorCode::kNumeric, "train",
                  "the loss on held-out data was no number in any epoch, so "
                  "that none is the best")
          .detail("checkpoint: " + folder_.last_path().string())
          .hint("do held-out data hold NaN or infinity?");
    }
    // The first worker reads the best weights and measures alone.
    FinalScores scores{.test = measure_->best(), .predicted = {}};
    if (worker_->is_first()) {
      scores = final_scores(recipe_, assembly_, description_,
                            folder_.best_path(), std::move(scores.test));
    }
    return {.steps = loop_.steps_done(),
            .epochs = loop_.epochs_measured(),
            .seconds = loop_.seconds(),
            .train_loss = loop_.last_train_loss(),
            .test = std::move(scores.test),
            .predicted = std::move(scores.predicted),
            .deciding = loop_.deciding_metric(),
            .best_epoch = measure_->best_epoch(),
            .samples_per_s = loop_.samples_per_s(),
            .workers = worker_->ranks(),
            .traffic = worker_->traffic() ? std::optional(log_->mean_traffic())
                                          : std::nullopt,
            .simulated = {},
            .checkpoint = folder_.best_path()};
  }

  Recipe recipe_;
  TrainerOptions options_;
  std::optional<PrivateRun> privacy_;
  Assembly assembly_;
  std::unique_ptr<BatchSource> source_;
  StepDescription description_;
  std::unique_ptr<Worker> worker_;
  Evaluation held_out_;
  CheckpointFolder folder_;
  RunRecorder recorder_;
  TrainLoop loop_;
  const MeasureHook* measure_ = nullptr;  // hooks belong to the loop
  const LogHook* log_ = nullptr;
};

Trainer::Trainer(Recipe recipe, TrainerOptions options) {
  if (!recipe.simulate.network.empty() && options.computing == nullptr) {
    throw Error(ErrorCode::kInvalidArgument, "simulate.network",
                "a Trainer is one worker, and a simulated cluster has several")
        .hint(
            "weft train --simulate trains so, weft.train.simulate() in Python "
            "and train_simulated() in C++ (weft/train/simulated_run.h); else "
            "leave simulate.network out");
  }
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
    // The others wait for this worker, and are told why it is gone.
    group_->network().fail(error);
    throw;
  }
}

Trainer::~Trainer() = default;

void Trainer::add(std::unique_ptr<TrainHook> hook) {
  run_->add_hook(std::move(hook));
}

TrainResult Trainer::run(TrainObserver& observer) {
  return run_->run(observer);
}

}  // namespace weft
