#include "weft/train/trained_model.h"

#include "weft/nn/recurrent.h"
#include "weft/train/model_in_use.h"
#include "weft/train/step/export.h"
#include "weft/train/step/train_hook.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

// Whether the newest checkpoint of a run is from before it had a best one.
bool is_before_best(const fs::path& last) {
  try {
    const CheckpointFile file(last);
    return number_of(file.info().metrics, "best_epoch", kNotMeasured) == 0;
  } catch (const Error&) {
    return false;  // one that is damaged, or not there, says nothing
  }
}

}  // namespace

fs::path checkpoint_of(const fs::path& path) {
  if (!fs::is_directory(path)) return path;
  const fs::path last = path / "last.safetensors";
  // Older versions of Weft left an earlier run's best one beside a new last.
  if (!is_before_best(last)) return path / "best.safetensors";
  throw Error(ErrorCode::kUnavailable, path.string(),
              "no epoch of this run was measured yet, so that no model is its "
              "best")
      .hint(last.string() + " is its newest");
}

TrainedModel load_trained(const std::filesystem::path& path,
                          const std::filesystem::path& data_folder,
                          const GivenObjects& given) {
  TrainedModel result;
  result.path = checkpoint_of(path);
  const CheckpointFile file(result.path);
  result.info = file.info();
  result.recipe =
      parse_recipe(result.info.recipe, result.path.string() + " (its recipe)");
  if (!data_folder.empty()) result.recipe.data.folder = data_folder.string();
  result.assembly = assemble(result.recipe, /*workers=*/1, given);
  check_marks(result.info.data, result.assembly.data->description(),
              result.path.string());
  const Optimizer& optimizer = *result.assembly.optimizer;
  std::vector<CheckpointFile::Wanted> wanted;
  const auto parameters = result.model().parameters();
  std::vector<nn::ParameterRef> kept;
  for (const auto& [name, parameter] : parameters) {
    // The checkpoint stands somewhere within an epoch; whoever uses the model
    // begins with no memory of that.
    if (parameter->role == nn::Role::kCarried) {
      parameter->variable.set_tensor(Tensor::zeros(parameter->type()));
      continue;
    }
    wanted.push_back({parameter->is_trainable()
                          ? used_name(optimizer, {name, parameter->type()})
                          : name,
                      parameter->type()});
    kept.push_back(parameter);
  }
  // The file also has slots and parameters that only training needs.
  const auto tensors = file.read(wanted, /*allow_more=*/true);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    kept[i]->variable.set_tensor(tensors[i]);
  }
  return result;
}

StepOptions serving_options(TrainedModel& trained, DType recurrent_weights) {
  if (recurrent_weights != DType::kF32 &&
      !nn::has_recurrent_layer(trained.model())) {
    throw Error(ErrorCode::kInvalidArgument, trained.path.string(),
                "the model {} has no recurrent layer, whose weights could be "
                "{}",
                trained.recipe.model.name, to_string(recurrent_weights));
  }
  StepOptions options = step_options(trained.recipe);
  options.recurrent_weights = recurrent_weights;
  options.is_frozen = true;
  return options;
}

void export_trained(const std::filesystem::path& path,
                    const std::filesystem::path& file,
                    const std::filesystem::path& data_folder,
                    DType recurrent_weights) {
  TrainedModel trained = load_trained(path, data_folder);
  export_trained(trained, file, recurrent_weights);
}

void export_trained(TrainedModel& trained, const std::filesystem::path& file,
                    DType recurrent_weights) {
  const auto source =
      trained.assembly.data->measure(trained.assembly.held_out(), Shard());
  // Only the types of its inputs are asked of the source.
  export_step(
      file,
      StepDescription(trained.model(), *trained.assembly.task, source->inputs(),
                      serving_options(trained, recurrent_weights)),
      model_metadata(trained.info, trained.assembly.data->description(),
                     trained.path));
}

}  // namespace weft
