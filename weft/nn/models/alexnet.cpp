// AlexNet on one machine (Krizhevsky, "One weird trick for parallelizing
// convolutional neural networks", 2014), as torchvision has it, whose names
// parameters have.
#include "weft/nn/conv2d.h"
#include "weft/nn/dropout.h"
#include "weft/nn/linear.h"
#include "weft/nn/model.h"
#include "weft/nn/pool.h"
#include "weft/nn/sequential.h"

namespace weft {
namespace {

// What the last pooling leaves of 224 x 224.
constexpr std::int64_t kAlexnetSide = 6;

nn::Sequential alexnet_features(std::int64_t channels) {
  const nn::MaxPool2d pool{3, {.stride = 2}};
  return nn::Sequential{
      nn::Conv2d{channels, 64, 11, {.stride = 4, .padding = 2}},
      nn::relu,
      pool,
      nn::Conv2d{64, 192, 5},
      nn::relu,
      pool,
      nn::Conv2d{192, 384, 3},
      nn::relu,
      nn::Conv2d{384, 256, 3},
      nn::relu,
      nn::Conv2d{256, 256, 3},
      nn::relu,
      pool};
}

std::unique_ptr<nn::Module> build_alexnet(const ModelInput& input,
                                          const Options& options) {
  // Three poolings of 3 x 3 behind a stride of 4 need this much.
  require_image("model alexnet", input, 63);
  const auto hidden = option<std::int64_t>(options, "hidden");
  const auto dropout = option<double>(options, "dropout");
  auto model = std::make_unique<nn::Sequential>();
  model->add("features", alexnet_features(input.example[2]))
      .add("avgpool", nn::AdaptiveAvgPool2d{kAlexnetSide})
      .add("flatten", nn::Flatten{})
      .add("classifier",
           nn::Sequential{nn::Dropout{dropout},
                          nn::Linear{256 * kAlexnetSide * kAlexnetSide, hidden},
                          nn::relu, nn::Dropout{dropout},
                          nn::Linear{hidden, hidden}, nn::relu,
                          nn::Linear{hidden, input.classes}});
  return model;
}

}  // namespace

void register_model_alexnet(ModelRegistry& models) {
  models.add(
      {.name = "alexnet",
       .summary = "five convolutions, three dense layers",
       .task = "classification",
       .options = {{"hidden", std::int64_t{4096},
                    "units of the two dense layers", kAtLeastOne},
                   {"dropout", 0.5, "before the dense layers", kBelowOne}},
       .build = build_alexnet});
}

}  // namespace weft
