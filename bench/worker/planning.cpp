// weft-bench planning NETWORK --depth D: what it takes to make a training step
// ready to run, for networks as deep as people train. Nothing is trained; with
// a depth of 2 a network has twice its layers.
#include <fmt/core.h>
#include <functional>
#include <map>

#include "bench/worker/options.h"
#include "bench/worker/serve.h"
#include "bench/worker/training.h"

#include "weft/base/stopwatch.h"
#include "weft/nn/conv2d.h"
#include "weft/nn/linear.h"
#include "weft/nn/norm.h"
#include "weft/nn/pool.h"
#include "weft/nn/sequential.h"
#include "weft/nn/transformer.h"
#include "weft/ops/ops.h"
#include "weft/optim/optimizer.h"

namespace weft::bench {
namespace {

constexpr std::int64_t kClasses = 1000;
constexpr std::int64_t kImages = 4;

nn::Conv2d convolution(std::int64_t inputs, std::int64_t outputs,
                       std::int64_t kernel, std::int64_t stride = 1) {
  return {inputs, outputs, kernel, {.stride = stride, .bias = false}};
}

void add_image_stem(nn::Sequential& model) {
  model.add(convolution(3, 64, 7, 2))
      .add(nn::BatchNorm{64})
      .add(nn::relu)
      .add(nn::MaxPool2d{3, {.stride = 2, .padding = 1}});
}

// A layer whose result has its input's channels in front (Huang et al.,
// "Densely connected convolutional networks", 2017).
class DenseLayer : public nn::Layer {
 public:
  DenseLayer(std::int64_t inputs, std::int64_t growth)
      : body_(child("body",
                    nn::Sequential{nn::BatchNorm{inputs}, nn::relu,
                                   convolution(inputs, 4 * growth, 1),
                                   nn::BatchNorm{4 * growth}, nn::relu,
                                   convolution(4 * growth, growth, 3)})) {}

 protected:
  Value forward(const Value& x) override {
    return concat(std::vector{x, body_(x)}, 3);
  }

 private:
  nn::Sequential& body_;
};

nn::Sequential densenet121(std::int64_t depth) {
  constexpr std::int64_t kGrowth = 32;
  constexpr std::int64_t kLayers[] = {6, 12, 24, 16};
  nn::Sequential model;
  add_image_stem(model);
  std::int64_t channels = 64;
  for (const std::int64_t layers : kLayers) {
    if (channels > 64) {  // a transition halves channels and image
      model.add(nn::BatchNorm{channels})
          .add(nn::relu)
          .add(convolution(channels, channels / 2, 1))
          .add(nn::AvgPool2d{2});
      channels /= 2;
    }
    for (std::int64_t i = 0; i < depth * layers; ++i) {
      model.add(DenseLayer{channels, kGrowth});
      channels += kGrowth;
    }
  }
  model.add(nn::BatchNorm{channels})
      .add(nn::relu)
      .add(nn::GlobalAvgPool{})
      .add(nn::Linear{channels, kClasses});
  return model;
}

// Figure 5 of He et al. (2015), with a projection where the size changes.
class Bottleneck : public nn::Layer {
 public:
  Bottleneck(std::int64_t inputs, std::int64_t width, std::int64_t stride)
      : body_(child("body", nn::Sequential{convolution(inputs, width, 1),
                                           nn::BatchNorm{width}, nn::relu,
                                           convolution(width, width, 3, stride),
                                           nn::BatchNorm{width}, nn::relu,
                                           convolution(width, 4 * width, 1),
                                           nn::BatchNorm{4 * width}})) {
    if (inputs == 4 * width && stride == 1) return;
    shortcut_ = &child("shortcut",
                       nn::Sequential{convolution(inputs, 4 * width, 1, stride),
                                      nn::BatchNorm{4 * width}});
  }

 protected:
  Value forward(const Value& x) override {
    return relu(body_(x) + (shortcut_ != nullptr ? (*shortcut_)(x) : x));
  }

 private:
  nn::Sequential& body_;
  nn::Sequential* shortcut_ = nullptr;
};

nn::Sequential resnet50(std::int64_t depth) {
  constexpr std::int64_t kBlocks[] = {3, 4, 6, 3};
  nn::Sequential model;
  add_image_stem(model);
  std::int64_t inputs = 64;
  std::int64_t width = 64;
  for (const std::int64_t blocks : kBlocks) {
    for (std::int64_t i = 0; i < depth * blocks; ++i) {
      model.add(Bottleneck{inputs, width, i == 0 && width > 64 ? 2 : 1});
      inputs = 4 * width;
    }
    width *= 2;
  }
  model.add(nn::GlobalAvgPool{}).add(nn::Linear{inputs, kClasses});
  return model;
}

// The transformer has BERT-base's shape, without its embedding.
constexpr std::int64_t kWidth = 768;
constexpr std::int64_t kHeads = 12;
constexpr std::int64_t kLength = 128;

nn::Sequential transformer(std::int64_t depth) {
  nn::Sequential model{nn::transformer_layers(12 * depth, kWidth, kHeads)};
  model.add([](const Value& x) { return mean(x, {1}); })
      .add(nn::Linear{kWidth, kClasses});
  return model;
}

struct Network {
  nn::Sequential (*build)(std::int64_t depth);
  TensorType input;
};

const Network& network_of(const std::string& name) {
  static const TensorType images{DType::kF32, {kImages, 224, 224, 3}};
  static const std::map<std::string, Network> networks{
      {"densenet121", {densenet121, images}},
      {"resnet50", {resnet50, images}},
      {"transformer",
       {transformer, {DType::kF32, {kImages, kLength, kWidth}}}}};
  const auto found = networks.find(name);
  if (found != networks.end()) return found->second;
  throw Error(ErrorCode::kInvalidArgument, "weft-bench", "no network '{}'",
              name)
      .hint("densenet121, resnet50, transformer");
}

}  // namespace

void measure_planning(const WorkerOptions& options) {
  const Network& network = network_of(options.model);
  nn::Sequential model = network.build(options.integer("depth"));
  model.initialize(1);
  const auto adam = make_optimizer("adam", Options());
  const Stopwatch staging;
  Step step(describe_step(model, "classification", *adam,
                          {network.input, {DType::kI32, {kImages}}}),
            StepCut::kTrain);
  const double staging_seconds = staging.seconds();
  const Stopwatch planning;
  const std::size_t steps = step.plan().steps().size();
  const double seconds = planning.seconds();
  fmt::print("{}\n", Json{{"staging_seconds", staging_seconds},
                          {"seconds", seconds},
                          {"nodes", step.function().nodes().size()},
                          {"steps", steps},
                          {"arena_bytes", step.plan().arena_bytes()}}
                         .dump());
}

}  // namespace weft::bench
