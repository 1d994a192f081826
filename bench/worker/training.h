// A model as the races train it: shared weights, the optimizer of
// bench/lib/models.py.
#pragma once

#include <memory>

#include "bench/worker/options.h"

#include "weft/nn/model.h"
#include "weft/train/step/step.h"

namespace weft::bench {

// How a raced model differs from another: the same as in bench/lib/models.py.
struct RacedModel {
  const char* name;
  Shape image;  // of one example; empty for token ids
  std::int64_t classes;
  const char* optimizer;
  double lr;
  Options settings;  // of the optimizer
  double clip_norm;
  std::int64_t steps = 1;  // of a text
  std::int64_t words = 0;  // of a text that has a class
};

// How many steps a text of lstm-lm has.
inline constexpr std::int64_t kSequenceSteps = 35;

// Throws Error(kInvalidArgument) for a model that is not raced.
const RacedModel& raced_model(const std::string& name);

// The model with the weights of a safetensors file, for batches of these
// types, and its optimizer.
std::unique_ptr<nn::Module> make_raced_model(
    const RacedModel& raced, const std::vector<TensorType>& batch,
    const std::string& weights);
std::unique_ptr<Optimizer> make_raced_optimizer(const RacedModel& raced);

// The step of a model on batches of an input and a label, described.
StepDescription describe_step(nn::Module& model, std::string_view task,
                              const Optimizer& optimizer,
                              const std::vector<TensorType>& batch,
                              const StepOptions& options = {});
std::vector<TensorType> types_of(const std::vector<BatchInput>& inputs);

class Training {
 public:
  // `batch` are the types of a batch; the weights come from a safetensors
  // file.
  Training(const RacedModel& raced, const std::vector<TensorType>& batch,
           const std::string& weights, DType dtype);

  // The loss before the update.
  float step(std::span<const Tensor> batch);

 private:
  const RacedModel& raced_;
  std::unique_ptr<nn::Module> model_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Step> step_;
  std::int64_t steps_done_ = 0;
};

}  // namespace weft::bench
