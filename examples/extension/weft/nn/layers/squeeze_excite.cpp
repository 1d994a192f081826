// Channels of an image, each times a number from 0 to 1 that depends on the
// means of all (Hu, Shen and Sun, "Squeeze-and-excitation networks", CVPR
// 2018).
#include <algorithm>

#include "weft/nn/layer_def.h"
#include "weft/nn/linear.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

class SqueezeExcite final : public nn::Layer {
 public:
  SqueezeExcite(std::int64_t channels, std::int64_t middle)
      : down_(child("down", nn::Linear(channels, middle))),
        up_(child("up", nn::Linear(middle, channels))) {}

 protected:
  Value forward(const Value& x) override {
    const Value share = sigmoid(up_(relu(down_(mean(x, {1, 2})))));
    const Shape& shape = share.shape();
    return x * reshape(share, {shape[0], 1, 1, shape[1]});
  }

 private:
  nn::Linear& down_;
  nn::Linear& up_;
};

}  // namespace

void register_layer_squeeze_excite(LayerRegistry& layers) {
  layers.add(
      {.name = "squeeze-excite",
       .summary = "weighs each channel by the means of all",
       .takes = "[height, width, channels]",
       .makes = "the same",
       .rank = 3,
       .options = {{"ratio", std::int64_t{4},
                    "of the channels to the numbers between", kLayerSizes}},
       .make = [](const ModelInput& input,
                  const Options& options) -> std::unique_ptr<nn::Layer> {
         const std::int64_t channels = input.example.back();
         const auto ratio = option<std::int64_t>(options, "ratio");
         return std::make_unique<SqueezeExcite>(
             channels, std::max<std::int64_t>(1, channels / ratio));
       }});
}

}  // namespace weft
