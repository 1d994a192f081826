#include "weft/train/step/nearest_nodes.h"

#include <algorithm>
#include <numeric>

namespace weft {
namespace {

constexpr std::size_t kMostTold = 5;

class NearestNodes final : public Predictor {
 public:
  explicit NearestNodes(const PredictorContext& context)
      : names_(context.data.classes()),
        predict_(context.functions(kPredictFunction)) {}

  Prediction predict(const PredictorInput& input) override {
    const std::string name = sentence_of(input);
    const auto found = std::ranges::find(names_, name);
    if (found == names_.end()) {
      throw Error(ErrorCode::kInvalidArgument, "predict", "no node '{}'", name)
          .hint(fmt::format("nodes are called as in the edge list: {}, …",
                            names_.front()));
    }
    const std::ptrdiff_t node = found - names_.begin();
    const Tensor scores = predict_(std::vector{Tensor::of<std::int32_t>(
                                       {1}, {static_cast<std::int32_t>(node)})})
                              .at(0);
    std::vector<std::int64_t> order(names_.size());
    std::iota(order.begin(), order.end(), 0);
    // A node is near itself, which is no news.
    order.erase(order.begin() + node);
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [&](std::int64_t i) { return scores.item(i); });
    order.resize(std::min(order.size(), kMostTold));
    Prediction result;
    result.json = {{"node", name}, {"near", nlohmann::ordered_json::array()}};
    for (const std::int64_t i : order) {
      const std::string& near = names_[static_cast<std::size_t>(i)];
      result.lines.push_back(
          fmt::format("{}   score {:.3f}", near, scores.item(i)));
      result.json["near"].push_back(
          {{"node", near}, {"score", scores.item(i)}});
    }
    return result;
  }

 private:
  const std::vector<std::string>& names_;
  ModelFunction predict_;
};

}  // namespace

std::unique_ptr<Predictor> find_nearest_nodes(const PredictorContext& context) {
  return std::make_unique<NearestNodes>(context);
}

}  // namespace weft
