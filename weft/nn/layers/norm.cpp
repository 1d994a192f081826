// Normalisations over the last axis, or of it.
#include "weft/nn/norm.h"

#include "weft/nn/layer_def.h"

namespace weft {
namespace {

const OptionSpec kNormEpsilon{"epsilon",
                              1e-5,
                              "added to the variance",
                              {.least = 0, .is_open_below = true}};

template <class Norm>
std::unique_ptr<nn::Layer> make_norm(const ModelInput& input,
                                     const Options& options) {
  return std::make_unique<Norm>(input.example.back(),
                                option<double>(options, "epsilon"));
}

std::unique_ptr<nn::Layer> make_batch_norm(const ModelInput& input,
                                           const Options& options) {
  return std::make_unique<nn::BatchNorm>(
      input.example.back(),
      nn::BatchNormOptions{.epsilon = option<double>(options, "epsilon"),
                           .momentum = option<double>(options, "momentum")});
}

std::unique_ptr<nn::Layer> make_group_norm(const ModelInput& input,
                                           const Options& options) {
  return std::make_unique<nn::GroupNorm>(
      option<std::int64_t>(options, "groups"), input.example.back(),
      option<double>(options, "epsilon"));
}

}  // namespace

void register_layer_norm(LayerRegistry& layers) {
  layers.add({.name = "batch-norm",
              .summary = "normalises each channel by the batch's moments, and "
                         "once trained by running ones",
              .takes = "[…, channels]",
              .makes = "the same",
              .options = {{"momentum",
                           0.1,
                           "weight of the newest batch in the running moments",
                           {.least = 0, .most = 1}},
                          kNormEpsilon},
              .make = make_batch_norm});
  layers.add(
      {.name = "group-norm",
       .summary = "normalises groups of an example's channels",
       .takes = "[…, channels]",
       .makes = "the same",
       .options = {{"groups", std::int64_t{32}, "of channels", kLayerSizes},
                   kNormEpsilon},
       .make = make_group_norm});
  layers.add({.name = "layer-norm",
              .summary = "normalises each row of the last axis",
              .takes = "[…, width]",
              .makes = "the same",
              .options = {kNormEpsilon},
              .make = make_norm<nn::LayerNorm>});
  layers.add({.name = "rms-norm",
              .summary = "divides each row of the last axis by its root mean "
                         "square",
              .takes = "[…, width]",
              .makes = "the same",
              .options = {kNormEpsilon},
              .make = make_norm<nn::RmsNorm>});
}

}  // namespace weft
