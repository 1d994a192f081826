// VGG-16 and VGG-19 (Simonyan and Zisserman, "Very deep convolutional networks
// for large-scale image recognition", 2014, table 1, D and E). Parameters have
// torchvision's names.
#include "weft/nn/conv2d.h"
#include "weft/nn/dropout.h"
#include "weft/nn/linear.h"
#include "weft/nn/model.h"
#include "weft/nn/norm.h"
#include "weft/nn/pool.h"
#include "weft/nn/sequential.h"

namespace weft {
namespace {

// What the last pooling leaves of 224 x 224.
constexpr std::int64_t kVggSide = 7;

nn::Sequential vgg_features(std::int64_t channels, std::int64_t width,
                            std::initializer_list<int> convolutions,
                            bool is_normalised) {
  nn::Sequential result;
  int stage = 0;
  for (const int count : convolutions) {
    // Channels double at each pooling, up to eight times the first.
    const std::int64_t outputs = width << std::min(stage++, 3);
    for (int i = 0; i < count; ++i) {
      result.add(nn::Conv2d{
          channels, outputs, 3, {.init = nn::Init::he_normal(9 * outputs)}});
      if (is_normalised) result.add(nn::BatchNorm{outputs});
      result.add(nn::relu);
      channels = outputs;
    }
    result.add(nn::MaxPool2d{2});
  }
  return result;
}

nn::Sequential vgg_classifier(std::int64_t inputs, std::int64_t hidden,
                              std::int64_t classes, double dropout) {
  const nn::LinearOptions small{.init = nn::Init::normal(0.01)};
  return nn::Sequential{
      nn::Linear{inputs, hidden, small}, nn::relu, nn::Dropout{dropout},
      nn::Linear{hidden, hidden, small}, nn::relu, nn::Dropout{dropout},
      nn::Linear{hidden, classes, small}};
}

// `kConvolutions`: how many stand before each of the five poolings.
template <int... kConvolutions>
std::unique_ptr<nn::Module> build_vgg(const ModelInput& input,
                                      const Options& options) {
  require_image("model vgg", input, 32);
  const auto width = option<std::int64_t>(options, "width");
  auto model = std::make_unique<nn::Sequential>();
  model
      ->add("features",
            vgg_features(input.example[2], width, {kConvolutions...},
                         option<bool>(options, "batch_norm")))
      .add("avgpool", nn::AdaptiveAvgPool2d{kVggSide})
      .add("flatten", nn::Flatten{})
      .add("classifier",
           vgg_classifier(8 * width * kVggSide * kVggSide,
                          option<std::int64_t>(options, "hidden"),
                          input.classes, option<double>(options, "dropout")));
  return model;
}

}  // namespace

void register_model_vgg(ModelRegistry& models) {
  const auto add = [&](const char* name, const char* summary, auto build) {
    models.add(
        {.name = name,
         .summary = summary,
         .task = "classification",
         .options = {{"width", std::int64_t{64},
                      "channels of the first convolutions", kAtLeastOne},
                     {"hidden", std::int64_t{4096},
                      "units of the two dense layers", kAtLeastOne},
                     {"batch_norm", false, "behind each convolution"},
                     {"dropout", 0.5, "behind the dense layers", kBelowOne}},
         .build = build});
  };
  add("vgg16", "13 convolutions of 3 x 3, three dense layers",
      build_vgg<2, 2, 3, 3, 3>);
  add("vgg19", "16 convolutions of 3 x 3, three dense layers",
      build_vgg<2, 2, 4, 4, 4>);
}

}  // namespace weft
