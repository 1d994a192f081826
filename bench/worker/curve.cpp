// weft-bench curve MODEL: the first losses on real data.
#include <fmt/core.h>

#include "bench/worker/options.h"
#include "bench/worker/serve.h"
#include "bench/worker/training.h"

#include "weft/data/fetch.h"
#include "weft/data/loader.h"

namespace weft::bench {
namespace {

const char* data_of(const std::string& model) {
  if (model == "resnet20") return "cifar10";
  if (model == "digits-cnn") return "digits";
  if (model == "lstm-lm") return "ptb";
  return "mnist";
}

}  // namespace

void follow_curve(const WorkerOptions& options) {
  const std::int64_t size = options.integer("batch");
  const std::int64_t steps = options.integer("steps");
  const DatasetSplits data = open_data({.name = data_of(options.model),
                                        .folder = options.text("data"),
                                        .batch = size,
                                        .steps = kSequenceSteps});
  Loader loader(data.train, {.batch = size,
                             .shuffle = !data.train->is_sequential(),
                             .drop_last = true,
                             .seed = 1,
                             .augment = {}});
  Training training(raced_model(options.model), types_of(loader.inputs()),
                    options.text("weights"), DType::kF32);
  Json losses = Json::array();
  for (std::int64_t i = 0; i < steps; ++i) {
    losses.push_back(training.step(loader.next().tensors));
  }
  fmt::print("{}\n", Json{{"losses", losses}}.dump());
}

}  // namespace weft::bench
