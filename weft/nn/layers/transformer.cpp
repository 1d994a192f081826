#include "weft/nn/transformer.h"

#include "weft/nn/layer_def.h"

namespace weft {
namespace {

std::unique_ptr<nn::Layer> make_transformer(const ModelInput& input,
                                            const Options& options) {
  return std::make_unique<nn::TransformerLayer>(
      input.example.back(), option<std::int64_t>(options, "heads"),
      nn::TransformerLayerOptions{
          .causal = option<bool>(options, "causal"),
          .norm_first = option<bool>(options, "norm_first"),
          .dropout = option<double>(options, "dropout"),
          .middle = option<std::int64_t>(options, "middle")});
}

}  // namespace

void register_layer_transformer(LayerRegistry& layers) {
  layers.add(
      {.name = "transformer",
       .summary = "attention, then two dense layers, each beside a shortcut",
       .takes = "[steps, width]",
       .makes = "the same",
       .rank = 2,
       .options = {{"heads", std::int64_t{4}, "of attention", kLayerSizes},
                   {"causal", false, "a step looks at those before it alone"},
                   {"norm_first", true,
                    "normalises what goes into each half, not what comes out"},
                   {"dropout",
                    0.0,
                    "of what each half adds to its shortcut",
                    {.least = 0, .most = 1, .is_open_above = true}},
                   {"middle", std::int64_t{0},
                    "numbers between the dense layers; 0: 4 times the width",
                    kLayerSizesOrNone}},
       .make = make_transformer});
}

}  // namespace weft
