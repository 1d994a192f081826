// Two convolutions with pooling, two dense layers: 28 x 28 digits.
#include "weft/nn/conv2d.h"
#include "weft/nn/linear.h"
#include "weft/nn/model.h"
#include "weft/nn/pool.h"
#include "weft/nn/sequential.h"

namespace weft {
namespace {

std::unique_ptr<nn::Module> build_mnist_cnn(const ModelInput& input,
                                            const Options&) {
  require_image("model mnist-cnn", input, 4);
  const Shape& image = input.example;
  // Each pooling halves the sides, rounding down.
  const Dim flat = (image[0] / 4) * (image[1] / 4) * 64;
  auto model = std::make_unique<nn::Sequential>();
  model->add("conv1", nn::Conv2d{image[2], 32, 3})
      .add(nn::relu)
      .add("pool1", nn::MaxPool2d{2})
      .add("conv2", nn::Conv2d{32, 64, 3})
      .add(nn::relu)
      .add("pool2", nn::MaxPool2d{2})
      .add("flatten", nn::Flatten{})
      .add("fc1", nn::Linear{flat, 128})
      .add(nn::relu)
      .add("fc2", nn::Linear{128, input.classes});
  return model;
}

}  // namespace

void register_model_mnist_cnn(ModelRegistry& models) {
  models.add({.name = "mnist-cnn",
              .summary = "conv 32, pool, conv 64, pool, dense 128, dense",
              .task = "classification",
              .options = {},
              .build = build_mnist_cnn});
}

}  // namespace weft
