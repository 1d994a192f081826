// A small network for 8 x 8 digits: two convolutions, one pooling, two dense
// layers; 38,282 parameters.
#include "weft/nn/conv2d.h"
#include "weft/nn/dropout.h"
#include "weft/nn/linear.h"
#include "weft/nn/model.h"
#include "weft/nn/pool.h"
#include "weft/nn/sequential.h"

namespace weft {
namespace {

std::unique_ptr<nn::Module> build_digits_cnn(const ModelInput& input,
                                             const Options& options) {
  require_image("model digits-cnn", input, 2);
  const Shape& image = input.example;
  // The pooling halves the sides, rounding down.
  const Dim flat = (image[0] / 2) * (image[1] / 2) * 32;
  auto model = std::make_unique<nn::Sequential>();
  model->add("conv1", nn::Conv2d{image[2], 16, 3})
      .add(nn::relu)
      .add("conv2", nn::Conv2d{16, 32, 3})
      .add(nn::relu)
      .add("pool", nn::MaxPool2d{2})
      .add("flatten", nn::Flatten{})
      .add("fc1", nn::Linear{flat, 64})
      .add(nn::relu)
      .add("dropout", nn::Dropout{option<double>(options, "dropout")})
      .add("fc2", nn::Linear{64, input.classes});
  return model;
}

}  // namespace

void register_model_digits_cnn(ModelRegistry& models) {
  models.add({.name = "digits-cnn",
              .summary = "conv 16, conv 32, pool, dense 64, dense",
              .task = "classification",
              .options = {{"dropout", 0.2, "before the last layer", kBelowOne}},
              .build = build_digits_cnn});
}

}  // namespace weft
