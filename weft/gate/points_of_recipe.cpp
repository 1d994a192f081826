// Points that are a part of a recipe's data, called by their numbers.
#include <algorithm>
#include <cmath>

#include "weft/data/description_text.h"
#include "weft/gate/points.h"
#include "weft/train/assembly.h"

namespace weft {
namespace {

// The class that each row of predictions tells.
class ToldClasses {
 public:
  ToldClasses(const Recipe& recipe, const std::vector<std::string>& classes,
              const std::string& where)
      : classes_(classes), where_(where) {
    if (recipe.task.name == "classification") return;
    if (recipe.task.name != "binary") {
      throw Error(ErrorCode::kUnsupported, where,
                  "a model of the task '{}' tells no class of a point",
                  recipe.task.name)
          .hint("a file of predictions is taken from any model");
    }
    const auto& positive = option<std::string>(recipe.task.options, "positive");
    positive_ = classes[0] == positive ? 0 : 1;
    threshold_ = option<double>(recipe.task.options, "threshold");
  }

  void append(const Tensor& told, std::vector<std::string>& out) const {
    const std::span<const float> numbers = told.span<float>();
    const auto rows = static_cast<std::size_t>(told.shape()[0]);
    const std::size_t width = numbers.size() / rows;
    for (std::size_t row = 0; row < rows; ++row) {
      const auto of_row = numbers.subspan(row * width, width);
      if (!std::ranges::all_of(of_row,
                               [](float x) { return std::isfinite(x); })) {
        throw Error(ErrorCode::kNumeric, where_,
                    "the model's numbers for point '{}' are not finite",
                    out.size());
      }
      out.push_back(classes_[class_of(of_row)]);
    }
  }

 private:
  std::size_t class_of(std::span<const float> row) const {
    if (positive_) {
      return row[0] >= threshold_ ? *positive_ : 1 - *positive_;
    }
    return static_cast<std::size_t>(std::ranges::max_element(row) -
                                    row.begin());
  }

  const std::vector<std::string>& classes_;
  const std::string& where_;
  std::optional<std::size_t> positive_;
  double threshold_ = 0;
};

class PointsOfRecipe final : public GatePoints {
 public:
  PointsOfRecipe(const std::filesystem::path& path, const std::string& part)
      : where_(path.string()), part_(data_part(part)) {
    const Recipe recipe = load_recipe(path);
    data_ = open_data(recipe);
    const DataDescription& data = data_->description();
    if (!data_->has(part_)) {
      throw Error(ErrorCode::kInvalidArgument, where_,
                  "the data '{}' has no part '{}'", recipe.data.name, part);
    }
    if (data.classes().empty() || data.features().size() != 2 ||
        data.features()[1].type.shape.rank() != 0 || data.is_sequential()) {
      throw Error(ErrorCode::kUnsupported, where_,
                  "the data '{}' has no points of one of several classes each",
                  recipe.data.name)
          .hint("points = \"TABLE\" takes predictions of anything");
    }
    classes_ = data.classes();
    visit([&](const Batch& batch) {
      for (const std::int32_t label : batch.tensors[1].span<std::int32_t>()) {
        ids_.push_back(std::to_string(ids_.size()));
        labels_.push_back(classes_[static_cast<std::size_t>(label)]);
      }
    });
  }

  std::vector<std::string> predict(ModelInUse& model) const override {
    if (to_json(model.description()) != to_json(data_->description())) {
      throw Error(ErrorCode::kInvalidArgument, model.path().string(),
                  "the model was trained on other data than the gate's")
          .detail("gate:  " + where_);
    }
    const std::string where = model.path().string();
    const ToldClasses told(model.recipe(), classes_, where);
    const ModelFunction predict = model.functions()(kPredictFunction);
    std::vector<std::string> classes;
    visit([&](const Batch& batch) {
      told.append(predict(std::span(batch.tensors).first(1)).at(0), classes);
    });
    WEFT_CHECK(classes.size() == ids_.size());
    return classes;
  }

 private:
  template <class Visit>
  void visit(Visit&& body) const {
    const auto source = data_->measure(part_, Shard());
    for (std::int64_t i = 0; i < source->batches_per_epoch(); ++i) {
      body(source->next());
    }
  }

  std::string where_;
  DataPart part_;
  std::shared_ptr<const TrainingData> data_;
};

}  // namespace

std::unique_ptr<GatePoints> open_points_of_recipe(
    const std::filesystem::path& recipe, const std::string& part) {
  return std::make_unique<PointsOfRecipe>(recipe, part);
}

}  // namespace weft
