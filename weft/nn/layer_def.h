// Layers by name: what the model "sequential" is made of.
//
//   stack_layers({"conv2d(16)", "relu", "flatten", "linear"},
//                {.example = {28, 28, 1}, .classes = 10})
//
// A layer learns from what arrives at it how large its parameters are. What it
// makes is not declared: it is staged once, and the rules of its ops tell.
//
// A new layer is one file in weft/nn/layers.
//
// Threads: immutable after freeze(); layer_registry() is safe anywhere.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/base/option_schema.h"
#include "weft/base/registry.h"
#include "weft/nn/model.h"
#include "weft/nn/sequential.h"

namespace weft {

struct LayerDef {
  std::string name;
  std::string summary;
  // These say what one example is before and after, for people: "[height,
  // width, channels]".
  std::string takes;
  std::string makes;
  int rank = 0;                // of what it takes; 0: any from 1 on
  bool takes_indices = false;  // integers, such as the numbers of words
  std::vector<OptionSpec> options = {};
  // `input` is the model's, but for `example`: that is the shape which arrives,
  // of `rank` dims that are known. `options` are complete. Throws
  // Error(kInvalidArgument) for an input that does not suit the layer.
  std::unique_ptr<nn::Layer> (*make)(const ModelInput& input,
                                     const Options& options) = nullptr;
};

using LayerRegistry = Registry<LayerDef>;
// It is filled from the files of weft/nn/layers.
const LayerRegistry& layer_registry();

struct LayerStack {
  nn::Sequential layers;
  Shape made;  // of one example
};

// Layers behind each other, not initialized, each written "conv2d(16,
// kernel=5)" (base/call_reader.h). A layer is named by its kind and how many of
// that are before it, "conv2d1", "conv2d2": what their parameters begin with
// does not change when others are put between them.
//
// Throws Error(kInvalidArgument) with the layer's place, "layers.2", for one
// that is not known, and for one that does not take what arrives.
LayerStack stack_layers(const std::vector<std::string>& calls,
                        const ModelInput& input,
                        const LayerRegistry& layers = layer_registry());

// What options of several layers may be.
inline constexpr NumberRange kLayerSizes{.least = 1, .most = 1 << 24};
inline constexpr NumberRange kLayerSizesOrNone{.least = 0, .most = 1 << 24};

}  // namespace weft
