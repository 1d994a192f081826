#include "weft/train/recipe_step.h"

#include <algorithm>
#include <cmath>

#include "weft/base/refusal.h"
#include "weft/train/files/checkpoint.h"
#include "weft/train/model_in_use.h"
#include "weft/train/step/export.h"
#include "weft/train/train_loop.h"

namespace weft {
namespace {

Assembly assemble_alone(const Recipe& recipe, const GivenObjects& given) {
  if (recipe.privacy.is_on()) {
    throw refused("privacy", "private training",
                  {"steps that a program takes one by one",
                   "nobody would count what they give away",
                   "weft train, or weft.train.run()"});
  }
  Assembly assembly = assemble(recipe, 1, given);
  // `weft train` begins with the same weights (Trainer).
  assembly.model->initialize(static_cast<std::uint64_t>(recipe.train.seed));
  return assembly;
}

}  // namespace

RecipeStep::RecipeStep(Recipe recipe, const GivenObjects& given)
    : recipe_(std::move(recipe)),
      assembly_(assemble_alone(recipe_, given)),
      source_(assembly_.data->train(Shard())),
      description_(*assembly_.model, *assembly_.task, source_->inputs(),
                   step_options(recipe_), assembly_.optimizer.get()),
      train_(description_, StepCut::kTrain) {
  source_->answer_with(answer_of(description_));
}

const Batch& RecipeStep::next() {
  const Batch& batch = source_->next();
  // State that streams carry does not run on from their end to their beginning.
  if (batch.position.batch == 0) train_.reset_carried();
  return batch;
}

std::int64_t RecipeStep::batches_per_epoch() const {
  return source_->batches_per_epoch();
}

std::int64_t RecipeStep::batches_left() const {
  const std::int64_t all = source_->batches_per_epoch();
  // At the end of an epoch, all of the next one is left.
  const std::int64_t left = all - source_->position().batch;
  return left > 0 ? left : all;
}

Scores RecipeStep::train(std::span<const Tensor> batch,
                         std::optional<double> lr) {
  const std::int64_t batches = source_->batches_per_epoch();
  const double rate = lr.value_or(recipe_.optimizer.lr.at(
      steps_done_, steps_of(recipe_.train, batches), batches));
  if (!std::isfinite(rate) || rate < 0) {
    throw Error(ErrorCode::kInvalidArgument, "train",
                "a rate of {}, where one from 0 on is due", rate);
  }
  train_.run(batch, {.lr = rate, .number = steps_done_});
  ++steps_done_;
  // A loss that is not finite never recovers, and further steps would only hide
  // where that began.
  if (const double loss = train_.loss(); !std::isfinite(loss)) {
    throw Error(ErrorCode::kNumeric, "train", "the loss is {} after step {}",
                loss, steps_done_)
        .hint("a smaller rate often helps");
  }
  return Scores(assembly_.task->metrics(), train_.measures());
}

Scores RecipeStep::evaluate(std::optional<DataPart> part) {
  const DataPart chosen = part.value_or(assembly_.held_out());
  if (chosen != DataPart::kTrain && !assembly_.data->has(chosen)) {
    throw Error(ErrorCode::kInvalidArgument, "evaluate",
                "the data have no part '{}'", to_string(chosen));
  }
  // What is measured are the weights that would be used, such as averages where
  // the optimizer keeps some.
  Evaluation evaluation(in_use(), assembly_.data->measure(chosen, Shard()));
  return Scores(assembly_.task->metrics(), evaluation.run());
}

std::vector<Tensor> RecipeStep::predict(std::span<const Tensor> known) {
  // Its plan and memory are made only where somebody predicts.
  if (!predict_) predict_.emplace(in_use(), StepCut::kPredict);
  return predict_->predict(known);
}

StepDescription RecipeStep::in_use() const {
  return description_.in_use(*assembly_.optimizer, description_.state());
}

void RecipeStep::save(const std::filesystem::path& path) const {
  write_checkpoint(path,
                   {{.recipe = kept_text(recipe_),
                     .step = steps_done_,
                     .position = source_->position(),
                     .seed = static_cast<std::uint64_t>(recipe_.train.seed),
                     .metrics = {},
                     .data = marks_of(assembly_.data->description())},
                    description_.state()});
}

void RecipeStep::export_model(const std::filesystem::path& path) const {
  const CheckpointInfo info{
      .recipe = kept_text(recipe_),
      .step = steps_done_,
      .position = source_->position(),
      .seed = static_cast<std::uint64_t>(recipe_.train.seed),
      .metrics = {},
      .data = marks_of(assembly_.data->description())};
  export_step(path, in_use(),
              model_metadata(info, assembly_.data->description(), ""));
}

void RecipeStep::load(const std::filesystem::path& path) {
  const CheckpointFile file(path);
  std::vector<NamedTensor> state = description_.state();
  std::vector<CheckpointFile::Wanted> wanted;
  for (const NamedTensor& named : state) {
    wanted.push_back({named.name, named.tensor.type()});
  }
  // What several workers had beside it is left behind.
  const std::vector<Tensor> tensors =
      file.read(wanted, file.info().metrics.contains("workers"));
  // The source may refuse the position, and then no weight has changed yet.
  source_->seek(file.info().position);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    state[i].tensor.copy_from(tensors[i]);
  }
  steps_done_ = file.info().step;
}

}  // namespace weft
