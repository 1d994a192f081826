#include "weft/train/assembly.h"

#include "weft/base/name_patterns.h"

namespace weft {
namespace {

// What a recipe says of groups of parameters, held against those that there
// are.
void freeze_groups(nn::Module& model, const OptimizerRecipe& optimizer) {
  std::vector<std::string> names;
  for (const auto& named : model.parameters()) {
    if (named.parameter->is_trainable()) names.push_back(named.name);
  }
  // All patterns are checked before anything is frozen: a frozen parameter
  // would match none that come later.
  std::vector<std::string> patterns;
  for (const GroupRecipe& group : optimizer.groups) {
    patterns.push_back(group.parameters);
  }
  check_patterns(patterns, names, "parameter", "optimizer.groups");
  for (const GroupRecipe& group : optimizer.groups) {
    if (group.is_frozen) nn::freeze(model, group.parameters);
  }
  if (!names.empty() && model.parameter_count() == 0) {
    throw Error(ErrorCode::kInvalidArgument, "optimizer.groups",
                "all parameters are frozen, so there is nothing to train");
  }
}

}  // namespace

Assembly assemble(const Recipe& recipe, int workers,
                  std::shared_ptr<nn::Module> model) {
  Assembly result;
  result.task = make_task(recipe.task.name, recipe.task.options);
  // The data is opened first: how many inputs, classes and words the model has
  // is read from it, and not from the recipe.
  result.data =
      open_training_data(batch_source_registry().get(recipe.data.source),
                         {.name = recipe.data.name,
                          .folder = recipe.data.folder,
                          .augment = recipe.data.augment,
                          .batch = recipe.train.batch,
                          .steps = recipe.train.steps,
                          .drop_last = recipe.train.drop_last,
                          .seed = static_cast<std::uint64_t>(recipe.train.seed),
                          .workers = workers,
                          .own = recipe.data.options});
  const DataDescription& data = result.data->description();
  result.task->check(data);
  result.task->fit(data);
  if (model == nullptr) {
    ModelInput input = result.task->model_input(data);
    // Each worker carries the state of the lanes of its own part of a batch.
    input.lanes /= workers;
    model = build_model(model_registry().get(recipe.model.name), input,
                        recipe.model.options);
  }
  result.model = std::move(model);
  // Groups are of the parameters that there are, those of views included.
  nn::view_parameters(*result.model, recipe.model.views);
  freeze_groups(*result.model, recipe.optimizer);
  return result;
}

StepOptions step_options(const Recipe& recipe) {
  const TrainRecipe& train = recipe.train;
  StepOptions options{.dtype = train.dtype,
                      .clip_norm = recipe.optimizer.clip_norm,
                      .seed = static_cast<std::uint64_t>(train.seed),
                      .check_numerics = train.check_numerics};
  options.tagged.max_frames = train.max_frames;
  options.tagged.workers = static_cast<int>(train.recursion_workers);
  if (train.batching == "always") options.tagged.batching = Batching::kAlways;
  if (train.batching == "never") options.tagged.batching = Batching::kNever;
  return options;
}

}  // namespace weft
