#include "weft/train/assembly.h"

#include "weft/data/fetch.h"
#include "weft/optim/groups.h"

namespace weft {
namespace {

void require_fit(const ModelDef& def, const Dataset& data) {
  // Running text has its vocabulary as classes, and no words() of its own:
  // those tell trees from everything else.
  const bool wants_text = def.task == TaskKind::kLanguageModel;
  const bool wants_trees = def.task == TaskKind::kTreeLabels;
  if (wants_text != data.is_sequential() ||
      wants_trees == data.words().empty()) {
    throw Error(ErrorCode::kInvalidArgument, "recipe",
                "model '{}' is for {}, which the data '{}' is not", def.name,
                to_string(def.task), data.name());
  }
  if (data.classes().empty()) {
    throw Error(ErrorCode::kInvalidArgument, "recipe",
                "the labels of '{}' are no classes", data.name());
  }
}

// What a recipe says of groups of parameters, held against those that there
// are.
void freeze_groups(nn::Module& model, const OptimizerRecipe& optimizer) {
  std::vector<std::string> names;
  for (const auto& named : model.parameters()) {
    if (named.parameter->is_trainable()) names.push_back(named.name);
  }
  std::vector<std::string> patterns;
  for (const GroupRecipe& group : optimizer.groups) {
    patterns.push_back(group.parameters);
  }
  check_patterns(patterns, names);
  for (const GroupRecipe& group : optimizer.groups) {
    if (group.is_frozen) nn::freeze(model, group.parameters);
  }
  if (!names.empty() && model.parameter_count() == 0) {
    throw Error(ErrorCode::kInvalidArgument, "optimizer.groups",
                "all parameters are frozen, so there is nothing to train");
  }
}

}  // namespace

Assembly assemble(const Recipe& recipe, int workers) {
  const ModelDef& def = model_registry().get(recipe.model.name);
  Assembly result;
  // The data is opened first: how many inputs, classes and words the model has
  // is read from it, and not from the recipe.
  result.data = open_data({.name = recipe.data.name,
                           .folder = recipe.data.folder,
                           .batch = recipe.train.batch,
                           .steps = recipe.train.steps});
  const Dataset& train = *result.data.train;
  require_fit(def, train);
  result.task = def.task;
  // Each worker carries the state of the lanes of its own part of a batch.
  result.model =
      build_model(def,
                  {.example = train.features().at(0).type.shape,
                   .classes = static_cast<std::int64_t>(train.classes().size()),
                   .words = static_cast<std::int64_t>(train.words().size()),
                   .lanes = train.lanes() / workers},
                  recipe.model.options);
  freeze_groups(*result.model, recipe.optimizer);
  return result;
}

TaggedOptions tagged_options(const TrainRecipe& train) {
  TaggedOptions options;
  options.max_frames = train.max_frames;
  options.workers = static_cast<int>(train.recursion_workers);
  if (train.batching == "always") options.batching = Batching::kAlways;
  if (train.batching == "never") options.batching = Batching::kNever;
  return options;
}

LoaderOptions train_loading(const Recipe& recipe, const Dataset& data) {
  return {.batch = recipe.train.batch,
          // What a lane carries from batch to batch belongs to the text that
          // comes next in it, so running text keeps its order.
          .shuffle = !data.is_sequential(),
          .drop_last = recipe.train.drop_last,
          .seed = static_cast<std::uint64_t>(recipe.train.seed),
          .augment = recipe.data.augment};
}

LoaderOptions eval_loading(const Recipe& recipe) {
  // Measuring is neither shuffled nor changed at random, and leaves no example
  // out, so that two measurements can be compared.
  return {.batch = recipe.train.batch, .augment = {}};
}

}  // namespace weft
