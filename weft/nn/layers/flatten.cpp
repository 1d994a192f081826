#include "weft/nn/layer_def.h"
#include "weft/nn/pool.h"

namespace weft {

void register_layer_flatten(LayerRegistry& layers) {
  layers.add({.name = "flatten",
              .summary = "all numbers of an example in one row",
              .takes = "[…]",
              .makes = "[numbers]",
              .make = [](const ModelInput&,
                         const Options&) -> std::unique_ptr<nn::Layer> {
                return std::make_unique<nn::Flatten>();
              }});
}

}  // namespace weft
