#include "weft/train/step/class_guesses.h"

#include <algorithm>

#include "weft/train/step/image_input.h"

namespace weft {
namespace {

struct Guess {
  std::string name;
  double probability;
};

bool are_digits(const std::vector<std::string>& classes) {
  return std::ranges::all_of(classes, [](const auto& name) {
    return name.size() == 1 && name[0] >= '0' && name[0] <= '9';
  });
}

class ClassGuesses final : public Predictor {
 public:
  explicit ClassGuesses(const PredictorContext& context)
      : data_(context.data), predict_(context.functions(kPredictFunction)) {}

  Prediction predict(const PredictorInput& input) override {
    Prediction result;
    result.picture = fitted_image(input, data_);
    const std::vector<Guess> guesses =
        guess(image_input(*result.picture, data_));
    const char* kind = are_digits(data_.classes()) ? "digit" : "class";
    result.lines.push_back(fmt::format("{} {}   probability {:.4f}", kind,
                                       guesses[0].name,
                                       guesses[0].probability));
    // Three guesses show what it was between.
    for (std::size_t i = 1; i < std::min<std::size_t>(guesses.size(), 3); ++i) {
      // Less would be shown as zero.
      if (guesses[i].probability < 0.0001) break;
      result.lines.push_back(fmt::format("      {}   probability {:.4f}",
                                         guesses[i].name,
                                         guesses[i].probability));
    }
    nlohmann::ordered_json classes = nlohmann::ordered_json::object();
    for (const Guess& each : guesses) classes[each.name] = each.probability;
    result.json = {{"image", input.text},
                   {"class", guesses[0].name},
                   {"probability", guesses[0].probability},
                   {"classes", classes}};
    return result;
  }

 private:
  // The most probable first.
  std::vector<Guess> guess(const Tensor& input) {
    const Tensor probabilities = predict_(std::vector{input}).at(0);
    std::vector<Guess> guesses;
    for (std::int64_t i = 0; i < probabilities.size(); ++i) {
      guesses.push_back({data_.classes()[static_cast<std::size_t>(i)],
                         probabilities.item(i)});
    }
    // The sort is stable, so equal guesses stand in the order of the classes.
    std::ranges::stable_sort(guesses, std::ranges::greater(),
                             &Guess::probability);
    return guesses;
  }

  const DataDescription& data_;
  ModelFunction predict_;
};

}  // namespace

std::unique_ptr<Predictor> guess_classes_of_images(
    const PredictorContext& context) {
  if (context.data.features()[0].type.shape.rank() != 3) {
    throw Error(ErrorCode::kUnsupported, "predict",
                "the model of '{}' does not look at images",
                context.data.name())
        .hint("weft eval measures it on its data");
  }
  return std::make_unique<ClassGuesses>(context);
}

}  // namespace weft
