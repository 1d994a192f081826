// Windows of images that become one pixel.
#include "weft/nn/pool.h"

#include "weft/nn/layer_def.h"

namespace weft {
namespace {

template <class Pool>
void add_pool(LayerRegistry& layers, const char* name, const char* summary) {
  layers.add(
      {.name = name,
       .summary = summary,
       .takes = "[height, width, channels]",
       .makes = "[height', width', channels]",
       .rank = 3,
       .options =
           {{"window", std::int64_t{2}, "its side", kLayerSizes, {}, "pixels"},
            {"stride",
             std::int64_t{0},
             "between windows; 0: the window",
             kLayerSizesOrNone,
             {},
             "pixels"},
            {"padding",
             std::int64_t{0},
             "on each side",
             kLayerSizesOrNone,
             {},
             "pixels"},
            {"ceil", false,
             "rounds the number of windows up: the last may hang over"}},
       .make = [](const ModelInput&,
                  const Options& options) -> std::unique_ptr<nn::Layer> {
         return std::make_unique<Pool>(
             option<std::int64_t>(options, "window"),
             nn::PoolLayerOptions{
                 .stride = option<std::int64_t>(options, "stride"),
                 .padding = option<std::int64_t>(options, "padding"),
                 .ceil = option<bool>(options, "ceil")});
       }});
}

}  // namespace

void register_layer_pool(LayerRegistry& layers) {
  add_pool<nn::MaxPool2d>(layers, "max-pool", "the largest pixel of a window");
  add_pool<nn::AvgPool2d>(layers, "avg-pool", "the mean of a window");
  layers.add({.name = "adaptive-avg-pool",
              .summary = "means of as many windows as are asked for",
              .takes = "[height, width, channels]",
              .makes = "[size, size, channels]",
              .rank = 3,
              .options = {{"size", std::int64_t{1},
                           "windows in a row and in a column", kLayerSizes}},
              .make = [](const ModelInput&,
                         const Options& options) -> std::unique_ptr<nn::Layer> {
                return std::make_unique<nn::AdaptiveAvgPool2d>(
                    option<std::int64_t>(options, "size"));
              }});
  layers.add({.name = "global-avg-pool",
              .summary = "the mean of each channel",
              .takes = "[height, width, channels]",
              .makes = "[channels]",
              .rank = 3,
              .make = [](const ModelInput&,
                         const Options&) -> std::unique_ptr<nn::Layer> {
                return std::make_unique<nn::GlobalAvgPool>();
              }});
}

}  // namespace weft
