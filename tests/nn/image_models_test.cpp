// Models of images against torchvision: the names and shapes of parameters
// (torchvision.txt, of torchvision 0.29), their number, what images become, and
// that they train.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/train_step.h"
#include "tests/support/values.h"

#include "weft/base/file.h"
#include "weft/nn/auxiliary_head.h"
#include "weft/nn/model.h"
#include "weft/nn/nn.h"
#include "weft/nn/staging.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/constant.h"
#include "weft/tensor/symbol.h"

namespace weft::image_models_test {
namespace {

using Lines = std::vector<std::string>;

std::unique_ptr<nn::Module> model_of(const std::string& name,
                                     const Options& options = {},
                                     std::int64_t side = 224,
                                     std::int64_t classes = 1000) {
  return build_model(model_registry().get(name),
                     {.example = {side, side, 3}, .classes = classes}, options);
}

std::int64_t count_of(const std::string& name, const Options& options = {},
                      std::int64_t side = 224, std::int64_t classes = 1000) {
  return model_of(name, options, side, classes)->parameter_count();
}

// The lines of a section of torchvision.txt: a layer's name, the shape of its
// weight and whether it has a bias.
Lines published(const std::string& section) {
  const std::string text =
      read_text(std::string(WEFT_SOURCE_DIR) + "/tests/nn/torchvision.txt",
                std::size_t{1} << 20);
  std::istringstream stream(text);
  Lines lines;
  bool is_inside = false;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with('[')) {
      is_inside = line == "[" + section + "]";
    } else if (is_inside) {
      lines.push_back(line);
    }
  }
  std::ranges::sort(lines);
  return lines;
}

// In torchvision's order: outputs first, and kernels last.
Shape turned(const Shape& weight) {
  if (weight.rank() == 4) return {weight[3], weight[2], weight[0], weight[1]};
  return weight.rank() == 2 ? Shape{weight[1], weight[0]} : weight;
}

// The same of a model.
Lines lines_of(const nn::Module& model) {
  std::map<std::string, std::map<std::string, Shape>> layers;
  for (const auto& [name, parameter] : model.parameters()) {
    const std::size_t point = name.rfind('.');
    layers[name.substr(0, point)][name.substr(point + 1)] =
        parameter->type().shape;
  }
  Lines lines;
  for (const auto& [name, parts] : layers) {
    const Shape& weight = parts.at("weight");
    const bool is_norm = parts.contains("running_mean");
    EXPECT_EQ(parts.size(), is_norm ? 4 : parts.contains("bias") ? 2 : 1);
    lines.push_back(
        fmt::format("{} {}{}", name, fmt::join(turned(weight).dims(), ","),
                    !is_norm && parts.contains("bias") ? " bias" : ""));
  }
  std::ranges::sort(lines);
  return lines;
}

// What the model makes of images, staged without computing.
Shape shape_behind(nn::Module& model, std::int64_t side) {
  model.train(false);
  FunctionBuilder builder("model");
  const nn::Staging staged(model, builder);
  const Value x =
      builder.parameter({DType::kF32, {symbol("N"), side, side, 3}}, "x");
  const Function function = builder.build(
      [&] { return std::vector{dynamic_cast<nn::Layer&>(model)(x)}; });
  return function.type(function.results()[0]).shape;
}

struct Published {
  std::string section;
  std::string model;
  std::int64_t count;
  Options options = {};
  std::int64_t side = 224;
  std::int64_t least = 32;  // side of an image that the model still takes
};

class ImageModel : public ::testing::TestWithParam<Published> {};

TEST_P(ImageModel, HasTheParametersOfTorchvision) {
  const auto model =
      model_of(GetParam().model, GetParam().options, GetParam().side);
  EXPECT_EQ(model->parameter_count(), GetParam().count);
  const Lines expected = published(GetParam().section);
  ASSERT_FALSE(expected.empty());
  EXPECT_EQ(lines_of(*model), expected);
}

TEST_P(ImageModel, TellsClassesOfImagesThatAreLargeEnough) {
  const auto& [section, name, count, options, side, least] = GetParam();
  for (const std::int64_t size : {side, least}) {
    const auto model = model_of(name, options, size);
    const Shape made = shape_behind(*model, size);
    ASSERT_EQ(made.rank(), 2);
    EXPECT_EQ(made[1], 1000);
  }
  EXPECT_THROW(model_of(name, options, least - 1), Error);
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, ImageModel,
    ::testing::Values(
        Published{"alexnet", "alexnet", 61100840, {}, 224, 63},
        Published{"densenet121", "densenet121", 7978856, {}, 224, 29},
        Published{"inception-v3 auxiliary=true",
                  "inception-v3",
                  27161264,
                  {{"auxiliary", true}},
                  299,
                  299},
        Published{"mobilenet-v2", "mobilenet-v2", 3504872},
        Published{"resnet18", "resnet18", 11689512, {}, 224, 8},
        Published{"resnet34", "resnet34", 21797672, {}, 224, 8},
        Published{"resnet50", "resnet50", 25557032, {}, 224, 8},
        Published{"squeezenet version=1.0", "squeezenet", 1248424, {}, 224, 21},
        Published{"squeezenet version=1.1",
                  "squeezenet",
                  1235496,
                  {{"version", std::string("1.1")}},
                  224,
                  21},
        Published{"vgg16", "vgg16", 138357544},
        Published{"vgg16 batch_norm=true",
                  "vgg16",
                  138365992,
                  {{"batch_norm", true}}},
        Published{"vgg19", "vgg19", 143667240}),
    [](const auto& each) {
      std::string name = each.param.section;
      for (char& c : name) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
      }
      return name;
    });

TEST(ImageModels, CountWhatTorchvisionHasNot) {
  // 0.8, 15.3 and 25.6 million in table 2 of Huang et al.
  EXPECT_EQ(count_of("densenet-bc", {}, 32, 10), 769162);
  const auto growing = [](std::int64_t growth, std::int64_t depth) {
    return 1e-6 *
           static_cast<double>(count_of(
               "densenet-bc", {{"growth", growth}, {"depth", depth}}, 32, 10));
  };
  EXPECT_NEAR(growing(24, 250), 15.3, 0.05);
  EXPECT_NEAR(growing(40, 190), 25.6, 0.05);
  EXPECT_EQ(count_of("inception-v3", {}, 75), 23834568);
  // Four convolutions of 1 x 1 around the modules that change the width.
  const std::int64_t bypasses =
      96 * 128 + 128 + 128 * 256 + 256 + 256 * 384 + 384 + 384 * 512 + 512;
  EXPECT_EQ(count_of("squeezenet", {{"bypass", std::string("complex")}}),
            1248424 + bypasses);
  EXPECT_EQ(count_of("squeezenet", {{"bypass", std::string("simple")}}),
            1248424);
  // Its authors' table of checkpoints has 6.06 and 1.95 million.
  const auto wide = [](double width) {
    return static_cast<double>(count_of("mobilenet-v2", {{"width", width}}));
  };
  EXPECT_NEAR(wide(1.4), 6.06e6, 6e4);
  EXPECT_NEAR(wide(0.5), 1.95e6, 3e4);
}

TEST(ImageModels, RefuseDepthsThatThreeBlocksCannotShare) {
  test::expect_error(ErrorCode::kInvalidArgument, {"6 n + 4"}, [] {
    model_of("densenet-bc", {{"depth", std::int64_t{99}}});
  });
}

std::vector<Tensor> batch_of(std::int64_t side) {
  return {test::pattern({4, side, side, 3}),
          Tensor::of<std::int32_t>({4}, {0, 1, 2, 1})};
}

struct Trained {
  std::string model;
  Options options;
  std::int64_t side = 32;
  double rate = 0.002;
  int steps = 10;
};

class TrainedModel : public ::testing::TestWithParam<Trained> {};

TEST_P(TrainedModel, LowersItsLoss) {
  const auto& [name, options, side, rate, steps] = GetParam();
  const auto model = model_of(name, options, side, 3);
  model->initialize(7);
  const auto batch = batch_of(side);
  const auto optimizer = make_optimizer("adam", {});
  test::TrainStep step(*model, "classification", *optimizer,
                       {batch[0].type(), batch[1].type()});
  step.run(batch, rate, 0);
  const double first = step.loss();
  for (int i = 1; i < steps; ++i) step.run(batch, rate, i);
  EXPECT_LT(step.loss(), 0.9 * first);
  // Then it tells classes of images by themselves.
  const auto probabilities =
      step.cut(StepCut::kPredict).predict(std::vector{batch[0]});
  EXPECT_EQ(probabilities[0].shape(), (Shape{4, 3}));
}

const std::int64_t kNarrow = 8;

INSTANTIATE_TEST_SUITE_P(
    Small, TrainedModel,
    ::testing::Values(
        Trained{"alexnet", {{"hidden", kNarrow * 4}, {"dropout", 0.0}}, 63},
        Trained{"densenet121", {{"growth", kNarrow}}},
        Trained{"densenet-bc",
                {{"growth", kNarrow}, {"depth", std::int64_t{16}}},
                16},
        Trained{"mobilenet-v2", {{"width", 0.25}, {"dropout", 0.0}}},
        Trained{"resnet18", {{"width", kNarrow}, {"small", true}}, 16},
        // At 75, its smallest, the last maps have one pixel: four of them are
        // no statistics, and their gradients depend on rounding.
        Trained{"inception-v3", {{"dropout", 0.0}}, 107, 0.0001, 3},
        Trained{"resnet50", {{"width", kNarrow}, {"small", true}}, 16},
        Trained{"squeezenet",
                {{"bypass", std::string("complex")}, {"dropout", 0.0}}},
        Trained{"vgg16",
                {{"width", kNarrow},
                 {"hidden", kNarrow * 4},
                 {"batch_norm", true},
                 {"dropout", 0.0}}}),
    [](const auto& each) {
      std::string name = each.param.model;
      std::erase(name, '-');
      return name;
    });

// Both heads count while it is trained, and the one at the end alone later.
TEST(InceptionV3, TrainsItsMiddleToo) {
  const auto model = model_of("inception-v3", {{"auxiliary", true}}, 299, 10);
  auto& inception = dynamic_cast<nn::AuxiliaryHead&>(*model);
  const auto staged = [&](bool is_training) {
    model->train(is_training);
    FunctionBuilder builder("heads");
    const nn::Staging parameters(*model, builder);
    const Value x = builder.parameter({DType::kF32, {2, 299, 299, 3}}, "x");
    const Value key = builder.parameter({DType::kI64, {2}}, "key");
    bool has_auxiliary = false;
    Shape made;
    const Function function = builder.build([&] {
      const RandomKeyScope scope(key);
      const auto [logits, auxiliary] = inception.heads(x);
      has_auxiliary = auxiliary.is_defined();
      if (has_auxiliary) made = auxiliary.shape();
      return std::vector{logits};
    });
    EXPECT_EQ(made, has_auxiliary ? Shape({2, 10}) : Shape());
    return has_auxiliary;
  };
  EXPECT_TRUE(staged(true));
  EXPECT_FALSE(staged(false));
}

// A model of two classes whose heads are 0 and a constant.
class TwoHeads final : public nn::AuxiliaryHead {
 public:
  Heads heads(const Value& x) override {
    const Value middle = x * scalar_like(x, 2);
    return {x, is_training() ? middle : Value()};
  }
};

TEST(AuxiliaryHead, CountsFourTenthsWhileTraining) {
  TwoHeads model;
  const Tensor x = Tensor::of<float>({1, 2}, {1, 0});
  const Tensor label = Tensor::of<std::int32_t>({1}, {0});
  const auto loss = [&] {
    return test::objective(model, "classification", x, label)
        .loss.tensor()
        .item();
  };
  const double end = std::log1p(std::exp(-1.0));
  const double middle = std::log1p(std::exp(-2.0));
  EXPECT_NEAR(loss(), end + 0.4 * middle, 1e-6);
  model.train(false);
  EXPECT_NEAR(loss(), end, 1e-6);
}

}  // namespace
}  // namespace weft::image_models_test
