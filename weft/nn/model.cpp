#include "weft/nn/model.h"

namespace weft {

std::string_view to_string(TaskKind task) {
  return task == TaskKind::kLanguageModel ? "language model" : "classification";
}

std::unique_ptr<nn::Layer> build_model(const ModelDef& def,
                                       const ModelInput& input,
                                       const Options& options) {
  return def.build(input, complete(def.options, options, "model " + def.name));
}

void require_image(std::string_view model, const ModelInput& input,
                   std::int64_t side) {
  const Shape& shape = input.example;
  if (shape.rank() == 3 && shape[0] >= side && shape[1] >= side) return;
  throw Error(ErrorCode::kInvalidArgument, std::string(model),
              "an example is {}, but the model takes images [height, width, "
              "channels] of at least {} x {}",
              to_string(shape), side, side);
}

}  // namespace weft
