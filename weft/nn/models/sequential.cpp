// Layers by name, one behind the other: a network that a recipe writes out.
#include "weft/nn/sequential.h"

#include "weft/base/call_reader.h"
#include "weft/nn/layer_def.h"
#include "weft/ops/shape.h"

namespace weft {
namespace {

// A word is told for each step of running text, else one thing for an example.
void require_told(const Shape& made, const ModelInput& input) {
  if (input.classes == 0) return;
  const bool is_text = input.lanes > 0;
  if (made.rank() == (is_text ? 2 : 1) && made.back() == input.classes) return;
  throw Error(ErrorCode::kInvalidArgument, "model sequential",
              "its layers make {}, where {} are due", to_string(made),
              is_text ? fmt::format("[steps, {}]", input.classes)
                      : fmt::format("[{}]", input.classes))
      .hint(is_text || made.rank() == 1 ? "end with \"linear\""
                                        : "end with \"flatten\", \"linear\"");
}

std::unique_ptr<nn::Module> build_sequential(const ModelInput& input,
                                             const Options& options) {
  const auto& calls = option<std::vector<std::string>>(options, "layers");
  if (calls.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "model sequential",
                "it is not said of which layers")
        .hint("layers = [\"flatten\", \"linear(64)\", \"relu\", \"linear\"]");
  }
  LayerStack stack = stack_layers(calls, input);
  require_told(stack.made, input);
  if (input.lanes > 0) {
    // Objectives of language models take the steps first.
    stack.layers.add("steps_first", [](const Value& y) {
      return transpose(y, {1, 0, 2});
    });
  }
  return std::make_unique<nn::Sequential>(std::move(stack.layers));
}

}  // namespace

void register_model_sequential(ModelRegistry& models) {
  models.add({.name = "sequential",
              .summary = "layers by name, one behind the other",
              .task = "classification",
              .options = {{.name = "layers",
                           .value = std::vector<std::string>(),
                           .summary = "in their order: "
                                      "\"conv2d(16, kernel=3)\", \"relu\", …; "
                                      "see weft layers",
                           .calls = calls_of<layer_registry>()}},
              .takes_words = true,
              .build = build_sequential});
}

}  // namespace weft
