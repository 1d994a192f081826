#include "weft/data/dataset.h"

#include <gtest/gtest.h>

namespace weft::dataset_test {
namespace {

constexpr std::size_t kFeatures = 20;

// Element f of row r is 100 r + f.
class Wide final : public Dataset {
 public:
  Wide() {
    size_ = 5;
    for (std::size_t f = 0; f < kFeatures; ++f) {
      features_.push_back({std::to_string(f), {DType::kI32, {}}});
    }
  }

  void read(std::span<const std::int64_t> rows,
            std::span<const TensorView> batch) const override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t f = 0; f < batch.size(); ++f) {
        batch[f].as<std::int32_t>()[i] =
            static_cast<std::int32_t>(100 * rows[i]) +
            static_cast<std::int32_t>(f);
      }
    }
  }
};

TEST(Subset, HasAsManyFeaturesAsTheWhole) {
  const DatasetRef part = subset(std::make_shared<Wide>(), {4, 1, 2});
  std::vector<Tensor> tensors;
  std::vector<TensorView> views;
  for (std::size_t f = 0; f < kFeatures; ++f) {
    tensors.push_back(Tensor::empty({DType::kI32, {2}}));
    views.push_back(tensors.back().view());
  }
  part->read(std::vector<std::int64_t>{2, 0}, views);
  for (std::size_t f = 0; f < kFeatures; ++f) {
    const auto number = static_cast<std::int32_t>(f);
    EXPECT_EQ(tensors[f].data<std::int32_t>()[0], 200 + number);
    EXPECT_EQ(tensors[f].data<std::int32_t>()[1], 400 + number);
  }
}

}  // namespace
}  // namespace weft::dataset_test
