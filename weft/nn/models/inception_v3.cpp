// Inception-v3 (Szegedy et al., "Rethinking the Inception architecture for
// computer vision", 2015), as torchvision has it, whose names modules and
// parameters have. Blocks A to E are those of figures 5, 10, 6, 10 and 7.
#include "weft/nn/auxiliary_head.h"
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

constexpr std::int64_t kKeepsSize = nn::ConvOptions::kSame;

class BasicConv final : public nn::Layer {
 public:
  BasicConv(std::int64_t inputs, std::int64_t outputs, nn::KernelSize kernel,
            std::int64_t stride = 1, std::int64_t padding = kKeepsSize,
            double deviation = 0.1)
      : conv_(child("conv", nn::Conv2d{inputs,
                                       outputs,
                                       kernel,
                                       {.stride = stride,
                                        .padding = padding,
                                        .bias = false,
                                        .init = nn::Init::normal(deviation)}})),
        bn_(child("bn", nn::BatchNorm{outputs, {.epsilon = 1e-3}})) {}

 protected:
  Value forward(const Value& x) override { return nn::relu(bn_(conv_(x))); }

 private:
  nn::Conv2d& conv_;
  nn::BatchNorm& bn_;
};

// As torchvision's weights were trained: padding counts.
nn::AvgPool2d mean_of_neighbours() {
  return nn::AvgPool2d{3, {.stride = 1, .padding = 1}, true};
}
nn::MaxPool2d inception_pool() { return nn::MaxPool2d{3, {.stride = 2}}; }

// InceptionBranches side by side, whose channels come behind each other.
class InceptionBranches : public nn::Layer {
 protected:
  // Convolutions of names "branch1x1", …, one behind the other.
  struct Named {
    const char* name;
    BasicConv layer;
  };
  void branch(std::vector<Named> layers) {
    branches_.emplace_back();
    for (Named& each : layers) {
      branches_.back().push_back(&child(each.name, std::move(each.layer)));
    }
  }
  void pooled_branch(std::int64_t inputs, std::int64_t outputs) {
    branch({{"branch_pool", {inputs, outputs, 1}}});
    branches_.back().insert(
        branches_.back().begin(),
        &child("pool", nn::Sequential{mean_of_neighbours()}));
  }
  void bare_pool() {
    branches_.push_back({&child("pool", nn::Sequential{inception_pool()})});
  }

  Value forward(const Value& x) override { return concat(made(x), -1); }
  std::vector<Value> made(const Value& x) const {
    std::vector<Value> parts;
    for (const auto& branch : branches_) {
      Value y = x;
      for (nn::Layer* layer : branch) y = (*layer)(y);
      parts.push_back(y);
    }
    return parts;
  }

 private:
  std::vector<std::vector<nn::Layer*>> branches_;
};

class InceptionA final : public InceptionBranches {
 public:
  InceptionA(std::int64_t inputs, std::int64_t pooled) {
    branch({{"branch1x1", {inputs, 64, 1}}});
    branch({{"branch5x5_1", {inputs, 48, 1}}, {"branch5x5_2", {48, 64, 5}}});
    branch({{"branch3x3dbl_1", {inputs, 64, 1}},
            {"branch3x3dbl_2", {64, 96, 3}},
            {"branch3x3dbl_3", {96, 96, 3}}});
    pooled_branch(inputs, pooled);
  }
};

class InceptionB final : public InceptionBranches {
 public:
  explicit InceptionB(std::int64_t inputs) {
    branch({{"branch3x3", {inputs, 384, 3, 2, 0}}});
    branch({{"branch3x3dbl_1", {inputs, 64, 1}},
            {"branch3x3dbl_2", {64, 96, 3}},
            {"branch3x3dbl_3", {96, 96, 3, 2, 0}}});
    bare_pool();
  }
};

// 7 x 7 as 1 x 7 and 7 x 1.
class InceptionC final : public InceptionBranches {
 public:
  explicit InceptionC(std::int64_t middle) {
    const nn::KernelSize row{1, 7};
    const nn::KernelSize column{7, 1};
    branch({{"branch1x1", {768, 192, 1}}});
    branch({{"branch7x7_1", {768, middle, 1}},
            {"branch7x7_2", {middle, middle, row}},
            {"branch7x7_3", {middle, 192, column}}});
    branch({{"branch7x7dbl_1", {768, middle, 1}},
            {"branch7x7dbl_2", {middle, middle, column}},
            {"branch7x7dbl_3", {middle, middle, row}},
            {"branch7x7dbl_4", {middle, middle, column}},
            {"branch7x7dbl_5", {middle, 192, row}}});
    pooled_branch(768, 192);
  }
};

class InceptionD final : public InceptionBranches {
 public:
  InceptionD() {
    branch(
        {{"branch3x3_1", {768, 192, 1}}, {"branch3x3_2", {192, 320, 3, 2, 0}}});
    branch({{"branch7x7x3_1", {768, 192, 1}},
            {"branch7x7x3_2", {192, 192, nn::KernelSize{1, 7}}},
            {"branch7x7x3_3", {192, 192, nn::KernelSize{7, 1}}},
            {"branch7x7x3_4", {192, 192, 3, 2, 0}}});
    bare_pool();
  }
};

// Two of its branches end in 1 x 3 and 3 x 1 side by side.
class InceptionE final : public nn::Layer {
 public:
  explicit InceptionE(std::int64_t inputs)
      : branch1x1_(child("branch1x1", BasicConv{inputs, 320, 1})),
        branch3x3_1_(child("branch3x3_1", BasicConv{inputs, 384, 1})),
        branch3x3_2a_(child("branch3x3_2a", row())),
        branch3x3_2b_(child("branch3x3_2b", column())),
        branch3x3dbl_1_(child("branch3x3dbl_1", BasicConv{inputs, 448, 1})),
        branch3x3dbl_2_(child("branch3x3dbl_2", BasicConv{448, 384, 3})),
        branch3x3dbl_3a_(child("branch3x3dbl_3a", row())),
        branch3x3dbl_3b_(child("branch3x3dbl_3b", column())),
        branch_pool_(child("branch_pool", BasicConv{inputs, 192, 1})) {}

 protected:
  Value forward(const Value& x) override {
    const Value single = branch3x3_1_(x);
    const Value twice = branch3x3dbl_2_(branch3x3dbl_1_(x));
    return concat(std::vector{branch1x1_(x), branch3x3_2a_(single),
                              branch3x3_2b_(single), branch3x3dbl_3a_(twice),
                              branch3x3dbl_3b_(twice), branch_pool_(pool_(x))},
                  -1);
  }

 private:
  static BasicConv row() { return {384, 384, nn::KernelSize{1, 3}}; }
  static BasicConv column() { return {384, 384, nn::KernelSize{3, 1}}; }

  BasicConv& branch1x1_;
  BasicConv& branch3x3_1_;
  BasicConv& branch3x3_2a_;
  BasicConv& branch3x3_2b_;
  BasicConv& branch3x3dbl_1_;
  BasicConv& branch3x3dbl_2_;
  BasicConv& branch3x3dbl_3a_;
  BasicConv& branch3x3dbl_3b_;
  BasicConv& branch_pool_;
  nn::AvgPool2d pool_ = mean_of_neighbours();
};

// What tells the classes from the middle of the network while it is trained
// (section 4).
nn::Sequential inception_head(std::int64_t classes) {
  nn::Sequential result;
  result.add("pool", nn::AvgPool2d{5, {.stride = 3}})
      .add("conv0", BasicConv{768, 128, 1})
      .add("conv1", BasicConv{128, 768, 5, 1, 0, 0.01})
      .add("avgpool", nn::GlobalAvgPool{})
      .add("fc", nn::Linear{768, classes, {.init = nn::Init::normal(0.001)}});
  return result;
}

class InceptionV3 final : public nn::AuxiliaryHead {
 public:
  InceptionV3(std::int64_t channels, std::int64_t classes, double dropout,
              bool has_auxiliary) {
    add("Conv2d_1a_3x3", BasicConv{channels, 32, 3, 2, 0});
    add("Conv2d_2a_3x3", BasicConv{32, 32, 3, 1, 0});
    add("Conv2d_2b_3x3", BasicConv{32, 64, 3});
    add("maxpool1", inception_pool());
    add("Conv2d_3b_1x1", BasicConv{64, 80, 1});
    add("Conv2d_4a_3x3", BasicConv{80, 192, 3, 1, 0});
    add("maxpool2", inception_pool());
    add("Mixed_5b", InceptionA{192, 32});
    add("Mixed_5c", InceptionA{256, 64});
    add("Mixed_5d", InceptionA{288, 64});
    add("Mixed_6a", InceptionB{288});
    add("Mixed_6b", InceptionC{128});
    add("Mixed_6c", InceptionC{160});
    add("Mixed_6d", InceptionC{160});
    add("Mixed_6e", InceptionC{192});
    until_head_ = layers_.size();
    if (has_auxiliary) {
      auxiliary_ = &child("AuxLogits", inception_head(classes));
    }
    add("Mixed_7a", InceptionD{});
    add("Mixed_7b", InceptionE{1280});
    add("Mixed_7c", InceptionE{2048});
    add("avgpool", nn::GlobalAvgPool{});
    add("dropout", nn::Dropout{dropout});
    add("fc", nn::Linear{2048, classes, {.init = nn::Init::normal(0.1)}});
  }

  Heads heads(const Value& x) override {
    const Value middle = run(x, 0, until_head_);
    const Value logits = run(middle, until_head_, layers_.size());
    if (auxiliary_ == nullptr || !is_training()) return {logits, Value()};
    return {logits, (*auxiliary_)(middle)};
  }

 private:
  template <class L>
  void add(const char* name, L layer) {
    layers_.push_back(&child(name, std::move(layer)));
  }
  Value run(Value x, std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i) x = (*layers_[i])(x);
    return x;
  }

  std::vector<nn::Layer*> layers_;
  std::size_t until_head_ = 0;
  nn::Sequential* auxiliary_ = nullptr;
};

std::unique_ptr<nn::Module> build_inception_v3(const ModelInput& input,
                                               const Options& options) {
  const bool has_auxiliary = option<bool>(options, "auxiliary");
  // The head in the middle needs a map of 17 x 17.
  require_image("model inception-v3", input, has_auxiliary ? 299 : 75);
  return std::make_unique<InceptionV3>(input.example[2], input.classes,
                                       option<double>(options, "dropout"),
                                       has_auxiliary);
}

}  // namespace

void register_model_inception_v3(ModelRegistry& models) {
  models.add(
      {.name = "inception-v3",
       .summary = "branches of factorised convolutions, for 299 x 299",
       .task = "classification",
       .options = {{"auxiliary", false,
                    "a second classifier in the middle counts while training"},
                   {"dropout", 0.5, "before the classifier", kBelowOne}},
       .build = build_inception_v3});
}

}  // namespace weft
