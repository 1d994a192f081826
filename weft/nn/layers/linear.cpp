#include "weft/nn/linear.h"

#include "weft/nn/layer_def.h"

namespace weft {
namespace {

std::unique_ptr<nn::Layer> make_linear(const ModelInput& input,
                                       const Options& options) {
  auto outputs = option<std::int64_t>(options, "outputs");
  if (outputs == 0) outputs = input.classes;
  if (outputs == 0) {
    throw Error(ErrorCode::kInvalidArgument, "linear",
                "outputs = 0 stands for what the task tells, which is not said")
        .hint("linear(10)");
  }
  return std::make_unique<nn::Linear>(
      input.example.back(), outputs,
      nn::LinearOptions{.bias = option<bool>(options, "bias")});
}

}  // namespace

void register_layer_linear(LayerRegistry& layers) {
  layers.add({.name = "linear",
              .summary = "a dense layer over the last axis",
              .takes = "[…, inputs]",
              .makes = "[…, outputs]",
              .options = {{"outputs", std::int64_t{0},
                           "numbers it makes; 0: as many as the task tells, as "
                           "classes",
                           kLayerSizesOrNone},
                          {"bias", true, "adds a number to each output"}},
              .make = make_linear});
}

}  // namespace weft
