#include "weft/market/training_run.h"

#include <algorithm>
#include <bit>
#include <sodium.h>

#include "weft/market/sealed_result.h"
#include "weft/train/step/loaded_data.h"
#include "weft/train/train_loop.h"
#include "weft/train/trained_model.h"
#include "weft/train/trainer.h"

namespace weft::market {
namespace {

constexpr std::int64_t kToTheEnd = -1;

// How the loop's steps fall into stages.
struct Stages {
  std::int64_t steps;      // of an epoch
  std::int64_t per_epoch;  // stages
  std::int64_t stage_steps;

  Stages(const TrainLoop& loop, std::int64_t asked)
      : steps(loop.source().batches_per_epoch()),
        per_epoch(0),
        stage_steps(asked == 0 ? steps : std::min(asked, steps)) {
    per_epoch = (steps + stage_steps - 1) / stage_steps;
  }
  // Behind how many stages the loop stands, or nothing within one.
  std::optional<std::int64_t> behind(BatchPosition position) const {
    if (position.batch % stage_steps != 0 && position.batch != steps) {
      return std::nullopt;
    }
    return position.epoch * per_epoch +
           (position.batch + stage_steps - 1) / stage_steps;
  }
};

// Tells of states, and ends the run behind the last one that is asked for.
class StageHook final : public TrainHook {
 public:
  StageHook(const TrainingJob& job, bool is_resumed, std::int64_t last,
            const SeeState& see, StageCut* cut)
      : job_(job), is_resumed_(is_resumed), last_(last), see_(see), cut_(cut) {}

  void on_start(TrainLoop& loop) override {
    const Stages stages(loop, job_.stage_steps);
    *cut_ = {.stages = stages.per_epoch * job_.epochs,
             .steps_of_epoch = stages.steps};
    if (!is_resumed_) tell(loop, 0);
  }
  void on_step(TrainLoop& loop) override {
    const auto stage = Stages(loop, job_.stage_steps).behind(loop.position());
    if (stage) tell(loop, *stage);
  }

 private:
  void tell(TrainLoop& loop, std::int64_t stage) {
    const std::filesystem::path file = job_.scratch / "state.safetensors";
    write_checkpoint(
        file, {{.recipe = {},
                .step = loop.steps_done(),
                .position = loop.position(),
                .seed = static_cast<std::uint64_t>(loop.recipe().train.seed),
                .metrics = loop.remember()},
               loop.worker().checkpoint()});
    see_(stage, file);
    if (stage == last_) {
      throw Error(ErrorCode::kCancelled, "stage", "it ends with stage {}",
                  stage);
    }
  }

  const TrainingJob& job_;
  bool is_resumed_;
  std::int64_t last_;
  const SeeState& see_;
  StageCut* cut_;
};

struct Run {
  Recipe recipe;
  GivenObjects given;
  std::filesystem::path folder;
};

Run run_of(const TrainingJob& job) {
  Run run{.recipe = parse_recipe(job.recipe, "the job's recipe"),
          .given = {},
          .folder = job.scratch / "run"};
  std::filesystem::remove_all(run.folder);
  run.recipe.train.epochs = job.epochs;
  run.recipe.log.folder = run.folder.string();
  run.given.data =
      loaded_data(hold_out_fifth(job.rows), data_options(run.recipe));
  return run;
}

// Puts a state where a run of this recipe looks for its own.
void place_state(const Run& run, const std::filesystem::path& state,
                 const std::filesystem::path& target, bool ends_epoch) {
  const CheckpointFile file(state);
  Checkpoint checkpoint{.info = file.info(), .tensors = {}};
  checkpoint.info.recipe = to_toml(run.recipe);
  // The best weights are kept when their epoch has been counted.
  if (ends_epoch)
    checkpoint.info.position = {file.info().position.epoch + 1, 0};
  for (const SafetensorsEntry& entry : file.tensors().entries()) {
    checkpoint.tensors.push_back({entry.name, file.tensors().read(entry)});
  }
  write_checkpoint(target, checkpoint);
}

Trained trained_by(const Run& run, const TrainResult& result,
                   const std::filesystem::path& scratch) {
  const double metric = result.test.get(result.deciding.name);
  TrainedModel model = load_trained(result.checkpoint, {}, run.given);
  // How long it took, and where, is left out: what another machine makes of the
  // job must be the same bytes.
  Recipe recipe = run.recipe;
  recipe.log.folder.clear();
  model.info.recipe = to_toml(recipe);
  model.info.metrics = {{result.deciding.name, metric}};
  // A state that was opened for a check tells nothing of the data.
  model.info.data = marks_of(model.assembly.data->description());
  const std::filesystem::path file = scratch / "model.weft";
  export_trained(model, file);
  return {.model = file_bytes(file),
          .metric = fmt::format("{{\"{}\":{:.17g}}}\n", result.deciding.name,
                                metric)};
}

// Trains on from what lies in the folder of the run.
TrainResult train_on(const TrainingJob& job, const Run& run, bool is_resumed,
                     std::int64_t last, const SeeState& see, StageCut* cut) {
  TrainObserver silent;
  Trainer trainer(
      run.recipe,
      {.name = "job", .is_resumed = is_resumed, .given = run.given});
  if (see) {
    trainer.add(std::make_unique<StageHook>(job, is_resumed, last, see, cut));
  }
  return trainer.run(silent);
}

}  // namespace

Trained train_job(const TrainingJob& job, const SeeState& see) {
  const Run run = run_of(job);
  StageCut cut;
  const TrainResult result =
      train_on(job, run, /*is_resumed=*/false, kToTheEnd, see, &cut);
  return trained_by(run, result, job.scratch);
}

StageCut train_stage(const TrainingJob& job, const std::filesystem::path& start,
                     std::int64_t last, const SeeState& see) {
  const Run run = run_of(job);
  if (!start.empty()) {
    place_state(run, start, CheckpointFolder(run.folder).last_path(),
                /*ends_epoch=*/false);
  }
  StageCut cut;
  try {
    train_on(job, run, !start.empty(), last, see, &cut);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kCancelled) throw;
    return cut;
  }
  throw Error(ErrorCode::kDataLoss, "stage",
              "the state is not of a stage before {}", last);
}

Trained finish_job(const TrainingJob& job, const std::filesystem::path& last,
                   const std::filesystem::path& best) {
  const Run run = run_of(job);
  const CheckpointFolder folder(run.folder);
  if (!best.empty()) {
    place_state(run, best, folder.best_path(), /*ends_epoch=*/true);
  }
  place_state(run, last, folder.last_path(), /*ends_epoch=*/false);
  StageCut cut;
  const TrainResult result = train_on(job, run, /*is_resumed=*/true, kToTheEnd,
                                      /*see=*/{}, &cut);
  return trained_by(run, result, job.scratch);
}

void require_stage(const TrainingJob& job, const StageCut& cut,
                   std::int64_t stage, const std::filesystem::path& state) {
  const std::int64_t per_epoch = cut.stages / job.epochs;
  const std::int64_t epoch = (stage - 1) / per_epoch;
  const std::int64_t in_epoch = stage - epoch * per_epoch;
  const std::int64_t batch =
      job.stage_steps == 0
          ? cut.steps_of_epoch
          : std::min(in_epoch * job.stage_steps, cut.steps_of_epoch);
  const CheckpointInfo info = CheckpointFile(state).info();
  if (info.step == epoch * cut.steps_of_epoch + batch &&
      info.position.epoch == epoch && info.position.batch == batch) {
    return;
  }
  throw Error(ErrorCode::kDataLoss, "state",
              "it is of step {} (epoch {}, batch {}), and not behind stage {}",
              info.step, info.position.epoch, info.position.batch, stage);
}

std::int64_t best_epoch_in(const std::filesystem::path& state) {
  constexpr double kMostEpochs = 1e9;
  const double epoch =
      number_of(CheckpointFile(state).info().metrics, "best_epoch");
  if (!(epoch >= 0 && epoch <= kMostEpochs)) {
    throw Error(ErrorCode::kDataLoss, "state", "its best epoch is {}", epoch);
  }
  return static_cast<std::int64_t>(epoch);
}

Digest digest_of_state(const std::filesystem::path& state) {
  const CheckpointFile file(state);
  crypto_generichash_state digest;
  crypto_generichash_init(&digest, /*key=*/nullptr, 0, sizeof(Digest));
  const auto add = [&](const void* data, std::size_t size) {
    crypto_generichash_update(&digest, static_cast<const unsigned char*>(data),
                              size);
  };
  const auto add_text = [&](const std::string& text) {
    const std::uint64_t size = text.size();
    add(&size, sizeof size);
    add(text.data(), text.size());
  };
  const CheckpointInfo& info = file.info();
  add_text(fmt::format("weft market state {} {} {} {}", info.step,
                       info.position.epoch, info.position.batch, info.seed));
  for (const auto& [name, value] : info.metrics) {
    if (name == "seconds" || name == "training_seconds") continue;
    add_text(name);
    add(&value, sizeof value);
  }
  std::vector<const SafetensorsEntry*> entries;
  for (const SafetensorsEntry& entry : file.tensors().entries()) {
    entries.push_back(&entry);
  }
  std::ranges::sort(entries, {}, &SafetensorsEntry::name);
  for (const SafetensorsEntry* entry : entries) {
    add_text(entry->name);
    add_text(to_string(entry->type));
    const Tensor tensor = file.tensors().read(*entry);
    add(tensor.raw(), tensor.bytes());
  }
  Digest result;
  crypto_generichash_final(&digest, result.data(), result.size());
  return result;
}

}  // namespace weft::market
