#include "weft/nn/model.h"

#include <algorithm>

namespace weft {

std::string_view to_string(TaskKind task) {
  return task == TaskKind::kLanguageModel ? "language model" : "classification";
}

void ModelRegistry::add(ModelDef def) {
  WEFT_CHECK(find(def.name) == nullptr, "model '{}' is there twice", def.name);
  WEFT_CHECK(def.build != nullptr);
  defs_.push_back(std::move(def));
}

void ModelRegistry::freeze() {
  std::sort(defs_.begin(), defs_.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
}

const ModelDef* ModelRegistry::find(std::string_view name) const {
  for (const ModelDef& def : defs_) {
    if (def.name == name) return &def;
  }
  return nullptr;
}

const ModelDef& ModelRegistry::get(std::string_view name) const {
  if (const ModelDef* def = find(name)) return *def;
  std::vector<std::string> names;
  std::string list;
  for (const ModelDef& def : defs_) {
    names.push_back(def.name);
    list += (list.empty() ? "" : ", ") + def.name;
  }
  const std::string near = nearest(name, names);
  throw Error(ErrorCode::kInvalidArgument, "model", "no model '{}'{}", name,
              near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near))
      .detail("models: " + list);
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
