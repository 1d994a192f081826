// Elementwise functions.
#include "weft/nn/layer_def.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

template <auto apply>
void add_activation(LayerRegistry& layers, const char* name,
                    const char* summary) {
  layers.add({.name = name,
              .summary = summary,
              .takes = "[…]",
              .makes = "the same",
              .make = [](const ModelInput&,
                         const Options&) -> std::unique_ptr<nn::Layer> {
                return std::make_unique<nn::FunctionLayer>(
                    [](const Value& x) { return apply(x); });
              }});
}

// Elfwing, Uchibe and Doya, "Sigmoid-weighted linear units", 2018.
Value silu(const Value& x) { return x * sigmoid(x); }

std::unique_ptr<nn::Layer> make_leaky_relu(const ModelInput&,
                                           const Options& options) {
  return std::make_unique<nn::FunctionLayer>(
      [slope = option<double>(options, "slope")](const Value& x) {
        // This is max(x, slope x) for slopes up to 1 only, which the option's
        // range ensures.
        return maximum(x, x * slope);
      });
}

}  // namespace

void register_layer_activations(LayerRegistry& layers) {
  add_activation<relu>(layers, "relu", "max(x, 0)");
  add_activation<gelu>(layers, "gelu",
                       "x times the normal distribution's "
                       "share below x");
  add_activation<silu>(layers, "silu", "x sigmoid(x)");
  add_activation<sigmoid>(layers, "sigmoid", "1 / (1 + exp(-x))");
  add_activation<tanh>(layers, "tanh", "the hyperbolic tangent");
  layers.add(
      {.name = "leaky-relu",
       .summary = "max(x, slope x)",
       .takes = "[…]",
       .makes = "the same",
       .options =
           {{"slope", 0.01, "of negative numbers", {.least = 0, .most = 1}}},
       .make = make_leaky_relu});
}

}  // namespace weft
