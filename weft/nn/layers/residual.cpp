// Layers beside a shortcut (He et al., "Deep residual learning", 2015).
#include "weft/base/call_reader.h"
#include "weft/nn/layer_def.h"
#include "weft/ops/arithmetic.h"

namespace weft {
namespace {

class BesideShortcut final : public nn::Layer {
 public:
  explicit BesideShortcut(nn::Sequential layers)
      : layers_(child("layers", std::move(layers))) {}

 protected:
  Value forward(const Value& x) override { return x + layers_(x); }

 private:
  nn::Sequential& layers_;
};

std::unique_ptr<nn::Layer> make_residual(const ModelInput& input,
                                         const Options& options) {
  const auto& calls = option<std::vector<std::string>>(options, "layers");
  if (calls.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "residual",
                "it is not said which layers are beside the shortcut")
        .hint("residual([batch-norm, relu, conv2d])");
  }
  LayerStack stack = stack_layers(calls, input);
  // The shortcut has no layer of its own to change the shape with.
  if (stack.made != input.example) {
    throw Error(ErrorCode::kInvalidArgument, "residual",
                "its layers make {} of {}, and cannot be added to it",
                to_string(stack.made), to_string(input.example))
        .hint("put what changes the shape before it");
  }
  return std::make_unique<BesideShortcut>(std::move(stack.layers));
}

}  // namespace

void register_layer_residual(LayerRegistry& layers) {
  layers.add({.name = "residual",
              .summary = "what it takes, and what its layers make of that, "
                         "added",
              .takes = "[…]",
              .makes = "the same",
              .options = {{.name = "layers",
                           .value = std::vector<std::string>(),
                           .summary = "beside the shortcut: "
                                      "residual([batch-norm, relu, conv2d])",
                           .calls = calls_of<layer_registry>()}},
              .make = make_residual});
}

}  // namespace weft
