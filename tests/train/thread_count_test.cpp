// What training from scratch owes to the number of threads.
#include <gtest/gtest.h>

#include "tests/support/train_step.h"
#include "tests/support/values.h"

#include "weft/base/parallel.h"
#include "weft/nn/nn.h"

namespace weft::thread_count_test {
namespace {

class ThreadCount {
 public:
  explicit ThreadCount(int count) { set_thread_count(count); }
  ~ThreadCount() { set_thread_count(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_ = thread_count();
};

struct Trained {
  std::vector<NamedTensor> state;
  std::vector<float> losses;
};

// 20 steps on one batch of 10 classes, planned for so many threads.
template <class Model>
Trained trained(Model model, const Shape& example, int threads) {
  const ThreadCount scope(threads);
  constexpr std::int64_t kBatch = 12;
  model.initialize(3);
  Shape shape{kBatch};
  for (const Dim dim : example) shape.push_back(dim);
  const Tensor labels = Tensor::empty({DType::kI32, {kBatch}});
  for (std::int64_t i = 0; i < kBatch; ++i) {
    labels.data<std::int32_t>()[i] = static_cast<std::int32_t>(i % 10);
  }
  const std::vector<Tensor> batch{test::pattern(shape), labels};
  const auto optimizer = make_optimizer("momentum", {});
  test::TrainStep step(model, "classification", *optimizer,
                       {batch[0].type(), batch[1].type()});
  Trained result;
  for (int i = 0; i < 20; ++i) {
    step.run(batch, 0.05, i);
    result.losses.push_back(static_cast<float>(step.loss()));
  }
  for (const NamedTensor& each : step.state()) {
    result.state.push_back({each.name, each.tensor.clone()});
  }
  return result;
}

void expect_same_bits(const Trained& a, const Trained& b) {
  EXPECT_EQ(a.losses, b.losses);
  ASSERT_EQ(a.state.size(), b.state.size());
  for (std::size_t i = 0; i < a.state.size(); ++i) {
    EXPECT_TRUE(identical(a.state[i].tensor, b.state[i].tensor))
        << a.state[i].name;
  }
}

nn::Sequential perceptron() {
  return nn::Sequential{nn::Linear{50, 64}, nn::relu, nn::LayerNorm{64},
                        nn::Linear{64, 10}};
}

// The kernels of ResNet-20 on small images.
nn::Sequential residual_net() {
  return nn::Sequential{nn::Conv2d{3, 16, 3},
                        nn::BatchNorm{16},
                        nn::relu,
                        nn::ResidualBlock{16, 32, 2},
                        nn::MaxPool2d{2},
                        nn::GlobalAvgPool{},
                        nn::Linear{32, 10}};
}

TEST(ThreadCount, ShortProductsTrainToTheSameBitsOnAny) {
  const Trained one = trained(perceptron(), {50}, 1);
  EXPECT_LT(one.losses.back(), one.losses.front() / 2);
  for (const int threads : {2, 3}) {
    SCOPED_TRACE(threads);
    expect_same_bits(trained(perceptron(), {50}, threads), one);
  }
}

// oneDNN cuts the sums of a convolution's weight gradient by the number of
// threads: on another number they are rounded elsewhere.
TEST(ThreadCount, ConvolutionsTrainToTheSameBitsOnTheSame) {
  const Shape image{8, 8, 3};
  const Trained one = trained(residual_net(), image, 1);
  EXPECT_LT(one.losses.back(), one.losses.front() / 2);
  for (const int threads : {2, 3}) {
    SCOPED_TRACE(threads);
    const Trained some = trained(residual_net(), image, threads);
    expect_same_bits(trained(residual_net(), image, threads), some);
    // Forward, the bits are those of any number; after some updates nearly.
    EXPECT_EQ(some.losses[0], one.losses[0]);
    for (std::size_t i = 1; i < 5; ++i) {
      EXPECT_NEAR(some.losses[i], one.losses[i], 1e-3);
    }
  }
}

}  // namespace
}  // namespace weft::thread_count_test
