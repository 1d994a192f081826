// SqueezeNet (Iandola et al., "SqueezeNet: AlexNet-level accuracy with 50x
// fewer parameters", 2016), 1.0 of the paper and the lighter 1.1 of its
// authors, without bypasses, with simple or with complex ones (figure 2).
// Parameters have torchvision's names; those of a complex bypass, which
// torchvision lacks, are called "bypass".
#include "weft/nn/conv2d.h"
#include "weft/nn/dropout.h"
#include "weft/nn/model.h"
#include "weft/nn/pool.h"
#include "weft/nn/sequential.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/join.h"

namespace weft {
namespace {

enum class Bypass { kNone, kSimple, kComplex };

nn::Conv2d fire_conv(std::int64_t inputs, std::int64_t outputs,
                     std::int64_t kernel) {
  return {inputs,
          outputs,
          kernel,
          {.init = nn::Init::he_uniform(kernel * kernel * inputs)}};
}

// Few channels, from which two convolutions make many.
class Fire final : public nn::Layer {
 public:
  Fire(std::int64_t inputs, std::int64_t squeezed, std::int64_t expanded,
       Bypass bypass)
      : squeeze_(child("squeeze", fire_conv(inputs, squeezed, 1))),
        expand1x1_(child("expand1x1", fire_conv(squeezed, expanded, 1))),
        expand3x3_(child("expand3x3", fire_conv(squeezed, expanded, 3))) {
    const std::int64_t outputs = 2 * expanded;
    // What comes in can be added where it has the width of what comes out;
    // elsewhere a convolution makes it so wide.
    passes_by_ = bypass != Bypass::kNone && inputs == outputs;
    if (bypass == Bypass::kComplex && inputs != outputs) {
      bypass_ = &child("bypass", fire_conv(inputs, outputs, 1));
    }
  }

 protected:
  Value forward(const Value& x) override {
    const Value s = nn::relu(squeeze_(x));
    const Value y = concat(
        std::vector{nn::relu(expand1x1_(s)), nn::relu(expand3x3_(s))}, -1);
    if (bypass_ != nullptr) return y + (*bypass_)(x);
    return passes_by_ ? y + x : y;
  }

 private:
  nn::Conv2d& squeeze_;
  nn::Conv2d& expand1x1_;
  nn::Conv2d& expand3x3_;
  nn::Conv2d* bypass_ = nullptr;
  bool passes_by_ = false;
};

nn::MaxPool2d fire_pool() {
  return nn::MaxPool2d{3, {.stride = 2, .ceil = true}};
}

nn::Sequential squeezenet_1_0(std::int64_t channels, Bypass bypass) {
  return nn::Sequential{
      nn::Conv2d{channels,
                 96,
                 7,
                 {.stride = 2,
                  .padding = 0,
                  .init = nn::Init::he_uniform(49 * channels)}},
      nn::relu,
      fire_pool(),
      Fire{96, 16, 64, bypass},
      Fire{128, 16, 64, bypass},
      Fire{128, 32, 128, bypass},
      fire_pool(),
      Fire{256, 32, 128, bypass},
      Fire{256, 48, 192, bypass},
      Fire{384, 48, 192, bypass},
      Fire{384, 64, 256, bypass},
      fire_pool(),
      Fire{512, 64, 256, bypass}};
}

nn::Sequential squeezenet_1_1(std::int64_t channels, Bypass bypass) {
  return nn::Sequential{
      nn::Conv2d{channels,
                 64,
                 3,
                 {.stride = 2,
                  .padding = 0,
                  .init = nn::Init::he_uniform(9 * channels)}},
      nn::relu,
      fire_pool(),
      Fire{64, 16, 64, bypass},
      Fire{128, 16, 64, bypass},
      fire_pool(),
      Fire{128, 32, 128, bypass},
      Fire{256, 32, 128, bypass},
      fire_pool(),
      Fire{256, 48, 192, bypass},
      Fire{384, 48, 192, bypass},
      Fire{384, 64, 256, bypass},
      Fire{512, 64, 256, bypass}};
}

std::unique_ptr<nn::Module> build_squeezenet(const ModelInput& input,
                                             const Options& options) {
  require_image("model squeezenet", input, 21);
  const auto& named = option<std::string>(options, "bypass");
  const Bypass bypass = named == "none"     ? Bypass::kNone
                        : named == "simple" ? Bypass::kSimple
                                            : Bypass::kComplex;
  const bool is_first = option<std::string>(options, "version") == "1.0";
  const std::int64_t channels = input.example[2];
  auto model = std::make_unique<nn::Sequential>();
  model
      ->add("features", is_first ? squeezenet_1_0(channels, bypass)
                                 : squeezenet_1_1(channels, bypass))
      // A convolution tells the classes at each pixel; their mean is the
      // image's.
      .add("classifier",
           nn::Sequential{
               nn::Dropout{option<double>(options, "dropout")},
               nn::Conv2d{
                   512, input.classes, 1, {.init = nn::Init::normal(0.01)}},
               nn::relu, nn::GlobalAvgPool{}});
  return model;
}

}  // namespace

void register_model_squeezenet(ModelRegistry& models) {
  models.add(
      {.name = "squeezenet",
       .summary = "eight modules that squeeze channels and expand them",
       .task = "classification",
       .options = {{.name = "version",
                    .value = std::string("1.0"),
                    .summary = "1.1 needs 2.4 times less computing",
                    .choices = {"1.0", "1.1"}},
                   {.name = "bypass",
                    .value = std::string("none"),
                    .summary = "simple: around modules that keep their width; "
                               "complex: around all",
                    .choices = {"none", "simple", "complex"}},
                   {"dropout", 0.5, "before the classifier", kBelowOne}},
       .build = build_squeezenet});
}

}  // namespace weft
