#include "weft/market/points.h"

#include <numeric>

#include "weft/base/error.h"

namespace weft::market {
namespace {

Error no_points(const Dataset& data, std::string_view what) {
  return Error(ErrorCode::kInvalidArgument, data.name(), "{}", what)
      .hint("values by neighbours are of images and tables with one class");
}

void check_kind(const Dataset& data) {
  const auto& features = data.features();
  if (features.size() != 2 || features[1].type.shape.rank() != 0 ||
      features[1].type.dtype != DType::kI32) {
    throw no_points(data, "has no single class for each example");
  }
  const Feature& first = features[0];
  if (!first.varying.empty() ||
      (first.type.dtype != DType::kU8 && first.type.dtype != DType::kF32)) {
    throw no_points(data, "has examples that are no rows of numbers");
  }
}

std::int64_t numbers_of(const TensorType& type) {
  return std::accumulate(type.shape.begin(), type.shape.end(), std::int64_t{1},
                         std::multiplies<>());
}

// Pixels, channel by channel.
void add_pixels(const Dataset& data, const std::uint8_t* pixels,
                std::int64_t count, std::vector<float>& values) {
  const PixelScale& scale = data.pixel_scale();
  for (std::int64_t i = 0; i < count; ++i) {
    const auto channel = static_cast<std::size_t>(
        i % static_cast<std::int64_t>(scale.mean.size()));
    values.push_back((static_cast<float>(pixels[i]) - scale.mean[channel]) /
                     scale.std[channel]);
  }
}

// Numbers, and then the categories.
void add_columns(const Dataset& data, const float* columns, std::int64_t count,
                 std::vector<float>& values) {
  const auto& categories = data.category_counts();
  const std::int64_t plain = count - std::ssize(categories);
  values.insert(values.end(), columns, columns + plain);
  for (std::size_t i = 0; i < categories.size(); ++i) {
    const std::size_t begin = values.size();
    values.resize(begin + static_cast<std::size_t>(categories[i]));
    const auto category = static_cast<std::int64_t>(
        columns[plain + static_cast<std::int64_t>(i)]);
    // -1 is one that the training part has not, and is like no other.
    if (category >= 0) values[begin + static_cast<std::size_t>(category)] = 1;
  }
}

}  // namespace

Points points_of(const Dataset& data, const std::vector<std::int64_t>& rows) {
  check_kind(data);
  const Feature& feature = data.features()[0];
  const std::int64_t count = numbers_of(feature.type);
  Points points;
  std::vector<Tensor> tensors;
  std::vector<TensorView> batch;
  for (const Feature& one : data.features()) {
    Shape shape{static_cast<Dim>(rows.size())};
    for (const Dim dim : one.type.shape) shape.push_back(dim);
    tensors.push_back(Tensor::zeros({one.type.dtype, shape}));
    batch.push_back(tensors.back().view());
  }
  data.read(rows, batch);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::byte* row = row_of(batch[0], i);
    if (feature.type.dtype == DType::kU8) {
      add_pixels(data, reinterpret_cast<const std::uint8_t*>(row), count,
                 points.values);
    } else {
      add_columns(data, reinterpret_cast<const float*>(row), count,
                  points.values);
    }
    points.labels.push_back(
        *reinterpret_cast<const std::int32_t*>(row_of(batch[1], i)));
  }
  points.width = rows.empty() ? 0
                              : std::ssize(points.values) /
                                    static_cast<std::int64_t>(rows.size());
  return points;
}

}  // namespace weft::market
