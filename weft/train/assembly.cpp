#include "weft/train/assembly.h"

#include <algorithm>

#include "weft/base/name_patterns.h"
#include "weft/train/sync/rules.h"

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

// Whoever wants a short run of images is quick to write this key for the other.
void refuse_steps_of_no_text(const Recipe& recipe,
                             const DataDescription& data) {
  if (recipe.train.steps == TrainRecipe().steps || data.lanes() > 0) return;
  throw Error(ErrorCode::kInvalidArgument, "train.steps",
              "the key is for running text, which '{}' is not",
              recipe.data.name)
      .hint("train.max_steps ends a run after so many steps");
}

// What is given is whole; what the recipe says besides would be lost.
void refuse_wrappers_and_groups(const OptimizerRecipe& optimizer) {
  const bool has_groups = std::ranges::any_of(
      optimizer.groups,
      [](const GroupRecipe& group) { return !group.is_frozen; });
  if (optimizer.wrap.empty() && !has_groups) return;
  throw Error(ErrorCode::kInvalidArgument, "optimizer",
              "the recipe has wrappers or groups, and the optimizer was given")
      .hint("wrap what is given, and leave optimizer.wrap and groups out");
}

std::optional<SearchOptions> search_options(const CompilerRecipe& compiler) {
  if (compiler.search == "none") return std::nullopt;
  return SearchOptions{
      .alpha = compiler.search == "greedy" ? 1 : compiler.alpha,
      .budget = static_cast<int>(compiler.budget),
      .seconds = compiler.search_seconds,
      .in_training = true};
}

}  // namespace

DataOptions data_options(const Recipe& recipe, int workers) {
  return {.name = recipe.data.name,
          .folder = recipe.data.folder,
          .augment = recipe.data.augment,
          .batch = recipe.train.batch,
          .steps = recipe.train.steps,
          .drop_last = recipe.train.drop_last,
          .seed = static_cast<std::uint64_t>(recipe.train.seed),
          .workers = workers,
          .own = recipe.data.options};
}

std::shared_ptr<const TrainingData> open_data(
    const Recipe& recipe, int workers, bool makes_ahead,
    const std::optional<PoissonSampling>& sampling) {
  if (recipe.data.name == kGivenObject) throw needs_object("data");
  DataOptions options = data_options(recipe, workers);
  options.makes_ahead = makes_ahead;
  options.poisson = sampling;
  return recipe.places.blame("data", [&] {
    return open_training_data(batch_source_registry().get(recipe.data.source),
                              options);
  });
}

bool have_same_data(const Recipe& a, const Recipe& b) {
  return a.data == b.data && data_options(a, 1) == data_options(b, 1);
}

Assembly assemble(const Recipe& recipe, int workers, const GivenObjects& given,
                  const std::optional<PoissonSampling>& sampling) {
  Assembly result;
  result.task = make_task(recipe.task.name, recipe.task.options);
  // The data is opened first: how many inputs, classes and words the model has
  // is read from it, and not from the recipe.
  result.data =
      given.data != nullptr
          ? checked_data(given.data, recipe.data.source)
          : open_data(recipe, workers, /*makes_ahead=*/true, sampling);
  const DataDescription& data = result.data->description();
  recipe.places.blame("train", [&] { refuse_steps_of_no_text(recipe, data); });
  recipe.places.blame("task", [&] {
    check_data(recipe.task.name, *result.task, data);
    // The task's constants, such as the scale of targets, must be there before
    // the model is built around them.
    result.task->fit(data);
  });
  recipe.places.blame("model", [&] {
    result.model = given.model;
    if (result.model == nullptr) {
      if (recipe.model.name == kGivenObject) throw needs_object("model");
      ModelInput input = result.task->model_input(data);
      // Each worker carries the state of the lanes of its own part of a batch.
      // In private training each window begins anew, as what is carried would
      // mix examples.
      input.lanes = recipe.privacy.is_on() ? 0 : input.lanes / workers;
      result.model = build_model(model_registry().get(recipe.model.name), input,
                                 recipe.model.options);
    }
    nn::view_parameters(*result.model, recipe.model.views);
  });
  // Groups are of the parameters that there are, those of views included.
  recipe.places.blame("optimizer", [&] {
    freeze_groups(*result.model, recipe.optimizer);
    result.optimizer = given.optimizer;
    if (result.optimizer == nullptr) {
      result.optimizer = make_optimizer(recipe.optimizer);
    } else {
      refuse_wrappers_and_groups(recipe.optimizer);
    }
  });
  if (given.optimizer != nullptr) {
    recipe.places.blame("sync",
                        [&] { check_sync(recipe.sync, *given.optimizer); });
  }
  return result;
}

StepOptions step_options(const Recipe& recipe) {
  const TrainRecipe& train = recipe.train;
  StepOptions options{.dtype = train.dtype,
                      .clip_norm = recipe.optimizer.clip_norm,
                      .seed = static_cast<std::uint64_t>(train.seed),
                      .check_numerics = train.check_numerics};
  options.search = search_options(recipe.compiler);
  if (recipe.privacy.is_on() && recipe.privacy.per_example == "batched") {
    options.privacy = {.clip_norm = recipe.privacy.clip_norm};
  }
  options.batch_norm = batch_norm_form(recipe.compiler.batch_norm);
  if (train.memory > 0) {
    options.memory_limit = static_cast<std::size_t>(train.memory);
  }
  options.tagged.max_frames = train.max_frames;
  options.tagged.workers = static_cast<int>(train.recursion_workers);
  if (train.batching == "always") options.tagged.batching = Batching::kAlways;
  if (train.batching == "never") options.tagged.batching = Batching::kNever;
  return options;
}

}  // namespace weft
