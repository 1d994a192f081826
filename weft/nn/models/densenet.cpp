// DenseNet (Huang et al., "Densely connected convolutional networks", 2016):
// every layer of a block sees what all earlier ones have made. DenseNet-121 is
// that of table 1, for large images; DenseNet-BC that of section 4.1, for small
// ones. Parameters have torchvision's names.
#include <cmath>

#include "weft/base/error.h"
#include "weft/nn/conv2d.h"
#include "weft/nn/dropout.h"
#include "weft/nn/linear.h"
#include "weft/nn/model.h"
#include "weft/nn/norm.h"
#include "weft/nn/pool.h"
#include "weft/nn/sequential.h"
#include "weft/ops/join.h"

namespace weft {
namespace {

nn::Conv2d dense_conv(std::int64_t inputs, std::int64_t outputs,
                      std::int64_t kernel, std::int64_t stride = 1) {
  return {inputs,
          outputs,
          kernel,
          {.stride = stride,
           .bias = false,
           .init = nn::Init::he_normal(kernel * kernel * inputs)}};
}

// A 1 x 1 convolution to four times the growth (the B), and one of 3 x 3, each
// behind a norm and a ReLU.
class DenseLayer final : public nn::Layer {
 public:
  DenseLayer(std::int64_t inputs, std::int64_t growth, double dropout)
      : norm1_(child("norm1", nn::BatchNorm{inputs})),
        conv1_(child("conv1", dense_conv(inputs, 4 * growth, 1))),
        norm2_(child("norm2", nn::BatchNorm{4 * growth})),
        conv2_(child("conv2", dense_conv(4 * growth, growth, 3))),
        dropout_(child("dropout", nn::Dropout{dropout})) {}

 protected:
  Value forward(const Value& x) override {
    const Value y = conv1_(nn::relu(norm1_(x)));
    return dropout_(conv2_(nn::relu(norm2_(y))));
  }

 private:
  nn::BatchNorm& norm1_;
  nn::Conv2d& conv1_;
  nn::BatchNorm& norm2_;
  nn::Conv2d& conv2_;
  nn::Dropout& dropout_;
};

struct DenseOptions {
  std::int64_t growth = 0;  // channels that each layer adds
  double dropout = 0;
};

class DenseBlock final : public nn::Layer {
 public:
  DenseBlock(std::int64_t inputs, std::int64_t layers,
             const DenseOptions& options) {
    for (std::int64_t i = 0; i < layers; ++i) {
      layers_.push_back(&child(fmt::format("denselayer{}", i + 1),
                               DenseLayer{inputs + i * options.growth,
                                          options.growth, options.dropout}));
    }
  }

 protected:
  Value forward(const Value& x) override {
    std::vector<Value> made{x};
    for (DenseLayer* layer : layers_) made.push_back((*layer)(joined(made)));
    return joined(made);
  }

 private:
  static Value joined(const std::vector<Value>& parts) {
    return parts.size() == 1 ? parts[0] : concat(parts, -1);
  }

  std::vector<DenseLayer*> layers_;
};

// Half of the channels (the C), and half of the sides.
nn::Sequential dense_transition(std::int64_t inputs) {
  nn::Sequential result;
  result.add("norm", nn::BatchNorm{inputs})
      .add("relu", nn::relu)
      .add("conv", dense_conv(inputs, inputs / 2, 1))
      .add("pool", nn::AvgPool2d{2});
  return result;
}

// Blocks with transitions between them, then the norm, the mean and the
// classifier. `features` has made `channels` so far.
std::unique_ptr<nn::Module> dense_network(nn::Sequential features,
                                          std::int64_t channels,
                                          const std::vector<int>& blocks,
                                          const DenseOptions& options,
                                          std::int64_t classes) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    features.add(fmt::format("denseblock{}", i + 1),
                 DenseBlock{channels, blocks[i], options});
    channels += blocks[i] * options.growth;
    if (i + 1 == blocks.size()) break;
    features.add(fmt::format("transition{}", i + 1),
                 dense_transition(channels));
    channels /= 2;
  }
  // It is called so whatever the number of blocks.
  features.add("norm5", nn::BatchNorm{channels}).add("relu", nn::relu);
  auto model = std::make_unique<nn::Sequential>();
  model->add("features", std::move(features))
      .add("avgpool", nn::GlobalAvgPool{})
      .add("classifier", nn::Linear{channels, classes});
  return model;
}

DenseOptions dense_options(const Options& options) {
  return {.growth = option<std::int64_t>(options, "growth"),
          .dropout = option<double>(options, "dropout")};
}

std::unique_ptr<nn::Module> build_densenet121(const ModelInput& input,
                                              const Options& options) {
  require_image("model densenet121", input, 29);
  const DenseOptions dense = dense_options(options);
  const std::int64_t channels = 2 * dense.growth;
  nn::Sequential features;
  features.add("conv0", dense_conv(input.example[2], channels, 7, 2))
      .add("norm0", nn::BatchNorm{channels})
      .add("relu0", nn::relu)
      .add("pool0", nn::MaxPool2d{3, {.stride = 2, .padding = 1}});
  return dense_network(std::move(features), channels, {6, 12, 24, 16}, dense,
                       input.classes);
}

std::unique_ptr<nn::Module> build_densenet_bc(const ModelInput& input,
                                              const Options& options) {
  require_image("model densenet-bc", input, 4);
  const DenseOptions dense = dense_options(options);
  const auto depth = option<std::int64_t>(options, "depth");
  // Three blocks of layers with two convolutions each, two transitions, the
  // first convolution and the classifier.
  if (depth < 10 || (depth - 4) % 6 != 0) {
    throw Error(ErrorCode::kInvalidArgument, "model densenet-bc",
                "{} layers cannot be shared out among three blocks", depth)
        .hint("depth = 6 n + 4, such as 40, 100 or 190");
  }
  const int layers = static_cast<int>((depth - 4) / 6);
  const std::int64_t channels = 2 * dense.growth;
  nn::Sequential features;
  features.add("conv0", dense_conv(input.example[2], channels, 3));
  return dense_network(std::move(features), channels, {layers, layers, layers},
                       dense, input.classes);
}

std::vector<OptionSpec> dense_option_specs(std::int64_t growth) {
  return {{"growth", growth, "channels that each layer adds", kAtLeastOne},
          {"dropout", 0.0, "behind each layer", kBelowOne}};
}

}  // namespace

void register_model_densenet(ModelRegistry& models) {
  models.add({.name = "densenet121",
              .summary = "121-layer network whose layers see all before them",
              .task = "classification",
              .options = dense_option_specs(32),
              .build = build_densenet121});
  std::vector<OptionSpec> options = dense_option_specs(12);
  options.push_back({"depth",
                     std::int64_t{100},
                     "layers with parameters, 6 n + 4",
                     {.least = 10, .most = 1 << 16}});
  models.add({.name = "densenet-bc",
              .summary = "such a network for images of 32 x 32 or so",
              .task = "classification",
              .options = options,
              .build = build_densenet_bc});
}

}  // namespace weft
