// ResNet-20 for 32 x 32 images (He et al., "Deep residual learning", 2015,
// section 4.2): three stages of three blocks with 16, 32 and 64 channels and
// shortcuts without parameters; 0.27 million parameters.
#include <fmt/core.h>

#include "weft/nn/conv2d.h"
#include "weft/nn/linear.h"
#include "weft/nn/model.h"
#include "weft/nn/norm.h"
#include "weft/nn/pool.h"
#include "weft/nn/residual.h"
#include "weft/nn/sequential.h"

namespace weft {
namespace {

nn::Sequential stage(std::int64_t inputs, std::int64_t outputs,
                     std::int64_t stride) {
  // Only the first block of a stage changes the size.
  return nn::Sequential{nn::ResidualBlock{inputs, outputs, stride},
                        nn::ResidualBlock{outputs, outputs, 1},
                        nn::ResidualBlock{outputs, outputs, 1}};
}

std::unique_ptr<nn::Module> build_resnet20(const ModelInput& input,
                                           const Options&) {
  require_image("model resnet20", input, 4);
  auto model = std::make_unique<nn::Sequential>();
  // The mean of the batch norm would take a bias out again.
  model->add("conv", nn::Conv2d{input.example[2], 16, 3, {.bias = false}})
      .add("bn", nn::BatchNorm{16})
      .add(nn::relu)
      .add("stage1", stage(16, 16, 1))
      .add("stage2", stage(16, 32, 2))
      .add("stage3", stage(32, 64, 2))
      .add("pool", nn::GlobalAvgPool{})
      .add("fc", nn::Linear{64, input.classes});
  return model;
}

}  // namespace

void register_model_resnet20(ModelRegistry& models) {
  models.add({.name = "resnet20",
              .summary = "20-layer residual network for small images",
              .task = "classification",
              .options = {},
              .build = build_resnet20});
}

}  // namespace weft
