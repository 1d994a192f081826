// Dense layers with ReLU between them. Images are flattened; categories of a
// table become a 1 among zeros each, or vectors.
#include <fmt/core.h>

#include "weft/nn/linear.h"
#include "weft/nn/model.h"
#include "weft/nn/pool.h"
#include "weft/nn/sequential.h"
#include "weft/nn/table_row.h"

namespace weft {
namespace {

std::unique_ptr<nn::Module> build_mlp(const ModelInput& input,
                                      const Options& options) {
  auto model = std::make_unique<nn::Sequential>();
  if (input.example.rank() > 1) model->add("flatten", nn::Flatten{});
  std::int64_t width = input.example.num_elements();
  if (!input.categories.empty()) {
    // A row ends with its categories, of which each is one number
    // (nn/table_row.h).
    nn::TableRow row(width - static_cast<std::int64_t>(input.categories.size()),
                     input.categories,
                     option<std::int64_t>(options, "embedding"));
    width = row.outputs();
    model->add("row", std::move(row));
  }
  int number = 0;
  for (const auto hidden :
       option<std::vector<std::int64_t>>(options, "hidden")) {
    model->add(fmt::format("fc{}", ++number), nn::Linear{width, hidden});
    model->add(fmt::format("relu{}", number), nn::Relu{});
    width = hidden;
  }
  // The last layer has no activation: it makes logits.
  model->add(fmt::format("fc{}", ++number), nn::Linear{width, input.classes});
  return model;
}

}  // namespace

void register_model_mlp(ModelRegistry& models) {
  models.add({.name = "mlp",
              .summary = "dense layers with ReLU",
              .task = "classification",
              .options = {{"hidden", std::vector<std::int64_t>{512, 512},
                           "units of each hidden layer", kAtLeastOne},
                          {"embedding", std::int64_t{0},
                           "numbers that a category of a table becomes; 0: one "
                           "for each",
                           kNotNegative}},
              .takes_categories = true,
              .build = build_mlp});
}

}  // namespace weft
