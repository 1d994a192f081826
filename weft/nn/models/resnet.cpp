// ResNet-18, -34 and -50 (He et al., "Deep residual learning for image
// recognition", 2015, table 1) with projections where a stage changes the size
// (option B). As in torchvision, whose names parameters have, the 3 x 3
// convolution of a bottleneck has the stride ("v1.5").
#include "weft/nn/conv2d.h"
#include "weft/nn/linear.h"
#include "weft/nn/model.h"
#include "weft/nn/norm.h"
#include "weft/nn/pool.h"
#include "weft/nn/sequential.h"
#include "weft/ops/arithmetic.h"

namespace weft {
namespace {

// Gradients keep their variance going backward: the fan is of outputs.
nn::Conv2d residual_conv(std::int64_t inputs, std::int64_t outputs,
                         std::int64_t kernel, std::int64_t stride = 1) {
  return {inputs,
          outputs,
          kernel,
          {.stride = stride,
           .bias = false,
           .init = nn::Init::he_normal(kernel * kernel * outputs)}};
}

// What a block adds to its shortcut comes from the parts; only the first block
// of a stage projects its shortcut.
class ProjectedBlock : public nn::Layer {
 protected:
  Value forward(const Value& x) override {
    const Value shortcut = downsample_ == nullptr ? x : (*downsample_)(x);
    return nn::relu(beside_shortcut(x) + shortcut);
  }
  virtual Value beside_shortcut(const Value& x) = 0;

  void add_shortcut(std::int64_t inputs, std::int64_t outputs,
                    std::int64_t stride) {
    if (inputs == outputs && stride == 1) return;
    downsample_ = &child(
        "downsample", nn::Sequential{residual_conv(inputs, outputs, 1, stride),
                                     nn::BatchNorm{outputs}});
  }

 private:
  nn::Sequential* downsample_ = nullptr;
};

class BasicBlock final : public ProjectedBlock {
 public:
  static constexpr std::int64_t kExpansion = 1;

  BasicBlock(std::int64_t inputs, std::int64_t width, std::int64_t stride)
      : conv1_(child("conv1", residual_conv(inputs, width, 3, stride))),
        bn1_(child("bn1", nn::BatchNorm{width})),
        conv2_(child("conv2", residual_conv(width, width, 3))),
        bn2_(child("bn2", nn::BatchNorm{width})) {
    add_shortcut(inputs, width, stride);
  }

 protected:
  Value beside_shortcut(const Value& x) override {
    return bn2_(conv2_(nn::relu(bn1_(conv1_(x)))));
  }

 private:
  nn::Conv2d& conv1_;
  nn::BatchNorm& bn1_;
  nn::Conv2d& conv2_;
  nn::BatchNorm& bn2_;
};

class Bottleneck final : public ProjectedBlock {
 public:
  static constexpr std::int64_t kExpansion = 4;

  Bottleneck(std::int64_t inputs, std::int64_t width, std::int64_t stride)
      : conv1_(child("conv1", residual_conv(inputs, width, 1))),
        bn1_(child("bn1", nn::BatchNorm{width})),
        conv2_(child("conv2", residual_conv(width, width, 3, stride))),
        bn2_(child("bn2", nn::BatchNorm{width})),
        conv3_(child("conv3", residual_conv(width, kExpansion * width, 1))),
        bn3_(child("bn3", nn::BatchNorm{kExpansion * width})) {
    add_shortcut(inputs, kExpansion * width, stride);
  }

 protected:
  Value beside_shortcut(const Value& x) override {
    const Value y = nn::relu(bn2_(conv2_(nn::relu(bn1_(conv1_(x))))));
    return bn3_(conv3_(y));
  }

 private:
  nn::Conv2d& conv1_;
  nn::BatchNorm& bn1_;
  nn::Conv2d& conv2_;
  nn::BatchNorm& bn2_;
  nn::Conv2d& conv3_;
  nn::BatchNorm& bn3_;
};

template <class B>
nn::Sequential residual_stage(std::int64_t inputs, std::int64_t width,
                              std::int64_t blocks, std::int64_t stride) {
  nn::Sequential result;
  result.add(B{inputs, width, stride});
  for (std::int64_t i = 1; i < blocks; ++i) {
    result.add(B{B::kExpansion * width, width, 1});
  }
  return result;
}

void add_residual_stem(nn::Sequential& model, std::int64_t channels,
                       std::int64_t width, bool is_small) {
  model
      .add("conv1", is_small ? residual_conv(channels, width, 3)
                             : residual_conv(channels, width, 7, 2))
      .add("bn1", nn::BatchNorm{width})
      .add("relu", nn::relu);
  if (is_small) return;
  model.add("maxpool", nn::MaxPool2d{3, {.stride = 2, .padding = 1}});
}

template <class B, int... kBlocks>
std::unique_ptr<nn::Module> build_resnet(const ModelInput& input,
                                         const Options& options) {
  require_image("model resnet", input, 8);
  auto model = std::make_unique<nn::Sequential>();
  auto width = option<std::int64_t>(options, "width");
  add_residual_stem(*model, input.example[2], width,
                    option<bool>(options, "small"));
  std::int64_t channels = width;
  int number = 1;
  for (const std::int64_t blocks : {kBlocks...}) {
    // Each stage but the first halves the sides, and has twice the channels.
    if (number > 1) width *= 2;
    model->add(fmt::format("layer{}", number),
               residual_stage<B>(channels, width, blocks, number == 1 ? 1 : 2));
    channels = B::kExpansion * width;
    ++number;
  }
  model->add("avgpool", nn::GlobalAvgPool{})
      .add("fc", nn::Linear{channels, input.classes});
  return model;
}

}  // namespace

void register_model_resnet(ModelRegistry& models) {
  const auto add = [&](const char* name, const char* summary, auto build) {
    models.add({.name = name,
                .summary = summary,
                .task = "classification",
                .options = {{"width", std::int64_t{64},
                             "channels of the first stage", kAtLeastOne},
                            {"small", false,
                             "begins with 3 x 3 and no pooling, for images of "
                             "32 x 32 or so"}},
                .build = build});
  };
  add("resnet18", "18-layer residual network",
      build_resnet<BasicBlock, 2, 2, 2, 2>);
  add("resnet34", "34-layer residual network",
      build_resnet<BasicBlock, 3, 4, 6, 3>);
  add("resnet50", "50-layer residual network with bottlenecks",
      build_resnet<Bottleneck, 3, 4, 6, 3>);
}

}  // namespace weft
