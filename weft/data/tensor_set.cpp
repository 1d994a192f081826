#include "weft/data/tensor_set.h"

#include <algorithm>
#include <cstring>

namespace weft {
namespace {

constexpr int kMostUnnamed = 1 << 20;  // classes

Error refused_set(std::string_view name, std::string reason) {
  return {ErrorCode::kInvalidArgument, std::string(name), std::move(reason)};
}

class TensorSet final : public Dataset {
 public:
  TensorSet(std::string name, std::vector<TensorFeature> features,
            std::vector<std::string> classes) {
    name_ = std::move(name);
    if (features.empty()) throw refused("it has no features");
    for (TensorFeature& feature : features) add(std::move(feature));
    if (size_ < 1) throw refused("it has no examples");
    const TensorType& first = features_.front().type;
    if (first.dtype == DType::kU8 && first.shape.rank() == 3) {
      pixel_scale_ = unit_scale(first.shape[2]);
    }
    classes_ = std::move(classes);
    // The last of several features is the label; one alone has none.
    if (features_.size() < 2) return;
    TensorLabels labels = labels_of(name_, values_.back(), std::move(classes_));
    classes_ = std::move(labels.classes);
    target_scale_ = labels.scale;
  }

  void read(std::span<const std::int64_t> rows,
            std::span<const TensorView> batch) const override {
    for (std::size_t f = 0; f < batch.size(); ++f) {
      const Tensor& all = values_[f];
      // The first axis counts examples, so that each lies in one piece.
      const std::size_t bytes = all.bytes() / static_cast<std::size_t>(size_);
      const auto* from = static_cast<const std::byte*>(all.raw());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        std::memcpy(row_of(batch[f], i),
                    from + static_cast<std::size_t>(rows[i]) * bytes, bytes);
      }
    }
  }

 private:
  Error refused(std::string reason) const {
    return refused_set(name_, std::move(reason));
  }

  void add(TensorFeature feature) {
    const TensorType type = feature.values.type();
    if (type.shape.rank() < 1) {
      throw refused(
          fmt::format("'{}' is {}, and its first axis should count examples",
                      feature.name, to_string(type)));
    }
    if (!values_.empty() && type.shape[0] != size_) {
      throw refused(fmt::format("'{}' has {} examples, and '{}' has {}",
                                features_.front().name, size_, feature.name,
                                type.shape[0]));
    }
    size_ = type.shape[0];
    features_.push_back(
        {feature.name,
         {type.dtype, Shape(type.shape.last(type.shape.rank() - 1))}});
    values_.push_back(std::move(feature.values));
  }

  std::vector<Tensor> values_;
};

}  // namespace

DatasetRef tensor_set(std::string name, std::vector<TensorFeature> features,
                      std::vector<std::string> classes) {
  return std::make_shared<TensorSet>(std::move(name), std::move(features),
                                     std::move(classes));
}

TensorLabels labels_of(std::string_view name, const Tensor& labels,
                       std::vector<std::string> classes) {
  const TensorType type = labels.type();
  TensorLabels found{std::move(classes), {}};
  // What has axes beside that of examples is neither a class nor a number.
  if (type.shape.rank() != 1 || type.dtype == DType::kBool) return found;
  const std::int64_t count = type.shape[0];
  if (is_floating(type.dtype)) {
    std::vector<double> targets;
    for (std::int64_t i = 0; i < count; ++i) targets.push_back(labels.item(i));
    found.scale = standard_scale(targets);
    return found;
  }
  double least = 0;
  double most = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    least = std::min(least, labels.item(i));
    most = std::max(most, labels.item(i));
  }
  // Classes without names are called by their numbers, and the largest one says
  // how many there are.
  if (found.classes.empty()) {
    // A stray number must not take the memory of so many names.
    if (most >= kMostUnnamed) {
      throw refused_set(
          name,
          fmt::format("label {:.0f} is none of {} classes, which is the most "
                      "without names",
                      most, kMostUnnamed));
    }
    for (int i = 0; i <= static_cast<int>(most); ++i) {
      found.classes.push_back(std::to_string(i));
    }
  }
  // Labels are checked here because kernels cannot throw.
  if (least < 0 || most >= static_cast<double>(found.classes.size())) {
    throw refused_set(
        name, fmt::format("label {} is none of {} classes",
                          least < 0 ? least : most, found.classes.size()));
  }
  return found;
}

}  // namespace weft
