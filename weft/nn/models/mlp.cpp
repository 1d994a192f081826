// Dense layers with ReLU between them; images are flattened.
#include <fmt/core.h>

#include "weft/nn/linear.h"
#include "weft/nn/model.h"
#include "weft/nn/pool.h"
#include "weft/nn/sequential.h"

namespace weft {
namespace {

std::unique_ptr<nn::Module> build_mlp(const ModelInput& input,
                                      const Options& options) {
  auto model = std::make_unique<nn::Sequential>();
  if (input.example.rank() > 1) model->add("flatten", nn::Flatten{});
  std::int64_t width = input.example.num_elements();
  int number = 0;
  for (const auto hidden :
       option<std::vector<std::int64_t>>(options, "hidden")) {
    if (hidden < 1) {
      throw Error(ErrorCode::kInvalidArgument, "model mlp",
                  "a hidden layer of {} units is none", hidden);
    }
    model->add(fmt::format("fc{}", ++number), nn::Linear{width, hidden});
    model->add(fmt::format("relu{}", number), nn::Relu{});
    width = hidden;
  }
  model->add(fmt::format("fc{}", ++number), nn::Linear{width, input.classes});
  return model;
}

}  // namespace

void register_model_mlp(ModelRegistry& models) {
  models.add({.name = "mlp",
              .summary = "dense layers with ReLU",
              .task = "classification",
              .options = {{"hidden", std::vector<std::int64_t>{512, 512},
                           "units of each hidden layer"}},
              .build = build_mlp});
}

}  // namespace weft
