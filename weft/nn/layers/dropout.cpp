#include "weft/nn/dropout.h"

#include "weft/nn/layer_def.h"

namespace weft {

void register_layer_dropout(LayerRegistry& layers) {
  layers.add({.name = "dropout",
              .summary = "in training, makes some elements 0",
              .takes = "[…]",
              .makes = "the same",
              .options = {{"rate",
                           0.5,
                           "share of elements that become 0",
                           {.least = 0, .most = 1, .is_open_above = true}}},
              .make = [](const ModelInput&,
                         const Options& options) -> std::unique_ptr<nn::Layer> {
                return std::make_unique<nn::Dropout>(
                    option<double>(options, "rate"));
              }});
}

}  // namespace weft
