// A linear model beside a deep one, over the rows of a table: the first
// remembers which categories mean what, the second finds what they have in
// common (Cheng et al., "Wide & Deep Learning for Recommender Systems", 2016,
// without its crossed columns).
#include <fmt/core.h>

#include "weft/nn/dropout.h"
#include "weft/nn/linear.h"
#include "weft/nn/model.h"
#include "weft/nn/sequential.h"
#include "weft/nn/table_row.h"
#include "weft/ops/arithmetic.h"

namespace weft {
namespace {

class WideAndDeep final : public nn::Layer {
 public:
  WideAndDeep(const ModelInput& input, const Options& options)
      : wide_(child("wide", nn::Sequential())),
        deep_(child("deep", nn::Sequential())) {
    const auto numbers = input.example.num_elements() -
                         static_cast<std::int64_t>(input.categories.size());
    // The linear part has a weight for each category, which is what it
    // remembers them by.
    nn::TableRow ones(numbers, input.categories, 0);
    const std::int64_t wide = ones.outputs();
    wide_.add("row", std::move(ones));
    wide_.add("out", nn::Linear{wide, input.classes});

    // The deep part has vectors of its own: the two are trained together, but
    // share no parameter.
    nn::TableRow vectors(numbers, input.categories,
                         option<std::int64_t>(options, "embedding"));
    std::int64_t width = vectors.outputs();
    deep_.add("row", std::move(vectors));
    int number = 0;
    for (const auto hidden :
         option<std::vector<std::int64_t>>(options, "hidden")) {
      deep_.add(fmt::format("fc{}", ++number), nn::Linear{width, hidden});
      deep_.add(fmt::format("relu{}", number), nn::Relu{});
      deep_.add(fmt::format("dropout{}", number),
                nn::Dropout(option<double>(options, "dropout")));
      width = hidden;
    }
    deep_.add("out", nn::Linear{width, input.classes});
  }

 protected:
  Value forward(const Value& rows) override {
    // Their logits are added (section 3.3 of the paper).
    return wide_(rows) + deep_(rows);
  }

 private:
  nn::Sequential& wide_;
  nn::Sequential& deep_;
};

std::unique_ptr<nn::Module> build_wide_and_deep(const ModelInput& input,
                                                const Options& options) {
  if (input.example.rank() != 1) {
    throw Error(ErrorCode::kInvalidArgument, "model wide-and-deep",
                "an example is {}, but the model takes rows of a table",
                to_string(input.example));
  }
  return std::make_unique<WideAndDeep>(input, options);
}

}  // namespace

void register_model_wide_and_deep(ModelRegistry& models) {
  models.add({.name = "wide-and-deep",
              .summary = "a linear model of a table's rows beside a deep one",
              .task = "classification",
              .options = {{"embedding", std::int64_t{8},
                           "numbers that a category becomes", kAtLeastOne},
                          {"hidden", std::vector<std::int64_t>{128, 64},
                           "units of each hidden layer", kAtLeastOne},
                          {"dropout", 0.0, "of the hidden layers", kBelowOne}},
              .takes_categories = true,
              .build = build_wide_and_deep});
}

}  // namespace weft
