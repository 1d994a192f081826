// Convolutions over rows and images.
#include "weft/nn/conv2d.h"
#include "weft/nn/layer_def.h"

namespace weft {
namespace {

std::vector<OptionSpec> conv_options(std::int64_t stride) {
  return {{"outputs", std::int64_t{0}, "channels; 0: as many as it takes",
           kLayerSizesOrNone},
          {"kernel",
           std::int64_t{3},
           "side of the window",
           kLayerSizes,
           {},
           "pixels"},
          {"stride", stride, "between windows", kLayerSizes, {}, "pixels"},
          {"padding",
           nn::ConvOptions::kSame,
           "zeros on each side; -1: as many as keep size / stride, rounded up",
           {.least = -1, .most = 1 << 24},
           {},
           "pixels"},
          {"dilation",
           std::int64_t{1},
           "between the points of a window",
           kLayerSizes,
           {},
           "pixels"},
          {"groups", std::int64_t{1}, "of channels that see each other alone",
           kLayerSizes},
          {"bias", true, "adds a number to each channel"}};
}

nn::ConvOptions conv_options_of(const Options& options) {
  return {.stride = option<std::int64_t>(options, "stride"),
          .padding = option<std::int64_t>(options, "padding"),
          .dilation = option<std::int64_t>(options, "dilation"),
          .groups = option<std::int64_t>(options, "groups"),
          .bias = option<bool>(options, "bias")};
}

template <class Conv>
std::unique_ptr<nn::Layer> make_conv(const ModelInput& input,
                                     const Options& options) {
  const std::int64_t inputs = input.example.back();
  const auto outputs = option<std::int64_t>(options, "outputs");
  // Layers by name see the channels that arrive, so that a recipe need not
  // repeat them.
  return std::make_unique<Conv>(inputs, outputs == 0 ? inputs : outputs,
                                option<std::int64_t>(options, "kernel"),
                                conv_options_of(options));
}

}  // namespace

void register_layer_conv(LayerRegistry& layers) {
  layers.add({.name = "conv1d",
              .summary = "a convolution over rows",
              .takes = "[length, channels]",
              .makes = "[length', outputs]",
              .rank = 2,
              .options = conv_options(1),
              .make = make_conv<nn::Conv1d>});
  layers.add({.name = "conv2d",
              .summary = "a convolution over images",
              .takes = "[height, width, channels]",
              .makes = "[height', width', outputs]",
              .rank = 3,
              .options = conv_options(1),
              .make = make_conv<nn::Conv2d>});
  layers.add({.name = "conv-transpose2d",
              .summary = "the transpose of conv2d: images that are larger",
              .takes = "[height, width, channels]",
              .makes = "[stride height, stride width, outputs]",
              .rank = 3,
              .options = conv_options(2),
              .make = make_conv<nn::ConvTranspose2d>});
}

}  // namespace weft
