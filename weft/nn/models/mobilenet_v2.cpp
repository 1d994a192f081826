// MobileNetV2 (Sandler et al., "MobileNetV2: Inverted residuals and linear
// bottlenecks", 2018, table 2). Parameters have torchvision's names.
#include "weft/nn/conv2d.h"
#include "weft/nn/dropout.h"
#include "weft/nn/linear.h"
#include "weft/nn/model.h"
#include "weft/nn/norm.h"
#include "weft/nn/pool.h"
#include "weft/nn/sequential.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

Value relu6(const Value& x) { return clamp(x, 0, 6); }

// Each channel sees itself alone if there are as many groups.
nn::Conv2d mobile_conv(std::int64_t inputs, std::int64_t outputs,
                       std::int64_t kernel, std::int64_t stride = 1,
                       std::int64_t groups = 1) {
  return {inputs,
          outputs,
          kernel,
          {.stride = stride,
           .groups = groups,
           .bias = false,
           .init = nn::Init::he_normal(kernel * kernel * outputs / groups)}};
}

nn::Sequential mobile_unit(nn::Conv2d layer, std::int64_t outputs) {
  return nn::Sequential{std::move(layer), nn::BatchNorm{outputs}, relu6};
}

// Few channels, from which many are made, seen one by one, and made few again:
// without a function, which would lose what few channels hold.
class InvertedResidual final : public nn::Layer {
 public:
  InvertedResidual(std::int64_t inputs, std::int64_t outputs,
                   std::int64_t stride, std::int64_t expansion)
      : has_shortcut_(stride == 1 && inputs == outputs),
        conv_(child("conv", parts(inputs, outputs, stride, expansion))) {}

 protected:
  Value forward(const Value& x) override {
    return has_shortcut_ ? x + conv_(x) : conv_(x);
  }

 private:
  static nn::Sequential parts(std::int64_t inputs, std::int64_t outputs,
                              std::int64_t stride, std::int64_t expansion) {
    const std::int64_t middle = inputs * expansion;
    nn::Sequential result;
    if (expansion > 1) {
      result.add(mobile_unit(mobile_conv(inputs, middle, 1), middle));
    }
    result
        .add(
            mobile_unit(mobile_conv(middle, middle, 3, stride, middle), middle))
        .add(mobile_conv(middle, outputs, 1))
        .add(nn::BatchNorm{outputs});
    return result;
  }

  bool has_shortcut_;
  nn::Sequential& conv_;
};

// The nearest multiple of 8, which is not below nine tenths.
std::int64_t divisible(double channels) {
  const auto near = std::max<std::int64_t>(
      8, static_cast<std::int64_t>(channels + 4) / 8 * 8);
  return static_cast<double>(near) < 0.9 * channels ? near + 8 : near;
}

// Blocks of one width: the first has the stride.
struct MobileStage {
  std::int64_t expansion, channels, blocks, stride;
};
constexpr MobileStage kMobileStages[] = {
    {1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
    {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

std::unique_ptr<nn::Module> build_mobilenet_v2(const ModelInput& input,
                                               const Options& options) {
  require_image("model mobilenet-v2", input, 32);
  const auto width = option<double>(options, "width");
  std::int64_t channels = divisible(32 * width);
  nn::Sequential features;
  features.add(
      mobile_unit(mobile_conv(input.example[2], channels, 3, 2), channels));
  for (const MobileStage& stage : kMobileStages) {
    const std::int64_t outputs =
        divisible(static_cast<double>(stage.channels) * width);
    for (std::int64_t i = 0; i < stage.blocks; ++i) {
      features.add(InvertedResidual{
          channels, outputs, i == 0 ? stage.stride : 1, stage.expansion});
      channels = outputs;
    }
  }
  // A narrow model keeps the width of what is classified (section 5).
  const std::int64_t last = divisible(1280 * std::max(1.0, width));
  features.add(mobile_unit(mobile_conv(channels, last, 1), last));
  auto model = std::make_unique<nn::Sequential>();
  model->add("features", std::move(features))
      .add("avgpool", nn::GlobalAvgPool{})
      .add("classifier",
           nn::Sequential{
               nn::Dropout{option<double>(options, "dropout")},
               nn::Linear{
                   last, input.classes, {.init = nn::Init::normal(0.01)}}});
  return model;
}

}  // namespace

void register_model_mobilenet_v2(ModelRegistry& models) {
  models.add({.name = "mobilenet-v2",
              .summary = "inverted residuals with depthwise convolutions",
              .task = "classification",
              .options = {{"width", 1.0, "times as many channels", kPositive},
                          {"dropout", 0.2, "before the classifier", kBelowOne}},
              .build = build_mobilenet_v2});
}

}  // namespace weft
