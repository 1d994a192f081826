// weft-bench codec MODEL: what a pipeline makes of the gradients of a model
// that trains with it, on real data: sizes, and speed on a long vector of
// such gradients.
#include <algorithm>
#include <chrono>
#include <fmt/core.h>

#include "bench/worker/options.h"
#include "bench/worker/serve.h"
#include "bench/worker/training.h"

#include "weft/comm/codec/pipeline.h"
#include "weft/data/fetch.h"
#include "weft/data/loader.h"
#include "weft/files/safetensors.h"

namespace weft::bench {
namespace {

constexpr int kTimings = 9;

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

// A tensor of the model on its way through the pipeline.
struct Traveller {
  std::string name;
  Tensor gradient;
  std::vector<float> memory;
  // These three add up over all of its messages.
  std::uint64_t bytes = 0;
  double encode_seconds = 0;
  double decode_seconds = 0;
};

class CompressedTraining {
 public:
  CompressedTraining(const RacedModel& raced, const Pipeline& pipeline,
                     const std::vector<TensorType>& batch,
                     const std::string& weights)
      : raced_(raced),
        pipeline_(pipeline),
        model_(make_raced_model(raced, batch, weights)),
        optimizer_(make_raced_optimizer(raced)),
        description_(describe_step(*model_,
                                   model_registry().get(raced.name).task,
                                   *optimizer_, batch)) {
    std::vector<Tensor> gradients;
    for (const NamedTensor& named :
         description_.tensors(EntryRole::kParameter)) {
      const Tensor gradient = Tensor::zeros(named.tensor.type());
      gradients.push_back(gradient);
      const auto size = static_cast<std::size_t>(gradient.size());
      const bool has_memory =
          pipeline.needs_feedback() && !pipeline.bypasses(gradient.size());
      travellers_.push_back(
          {named.name, gradient, std::vector<float>(has_memory ? size : 0)});
    }
    description_.set_gradients(gradients);
    backward_ = std::make_unique<Step>(description_, StepCut::kGradients);
    // Gradients are clipped when they have arrived.
    update_ = std::make_unique<Step>(
        description_.with_options({.clip_norm = raced.clip_norm}),
        StepCut::kUpdate);
  }

  // Trains on what the receiver decodes.
  float step(std::span<const Tensor> batch) {
    backward_->run(batch, {.number = steps_});
    for (std::size_t i = 0; i < travellers_.size(); ++i) {
      Traveller& traveller = travellers_[i];
      const MessageId id{1, static_cast<std::uint32_t>(i),
                         static_cast<std::uint32_t>(steps_), 0};
      const auto values = traveller.gradient.span<float>();
      traveller.encode_seconds += seconds_of(
          [&] { pipeline_.encode(values, traveller.memory, id, message_); });
      traveller.decode_seconds +=
          seconds_of([&] { pipeline_.decode(message_.bytes, id, values); });
      traveller.bytes += message_.bytes.size();
    }
    update_->run({}, {.lr = raced_.lr, .number = steps_++});
    return static_cast<float>(backward_->loss());
  }

  // No messages are sent: the gradients themselves are left in the travellers.
  void differentiate(std::span<const Tensor> batch) {
    backward_->run(batch, {.number = steps_});
  }

  std::int64_t steps() const { return steps_; }
  const std::vector<Traveller>& travellers() const { return travellers_; }

 private:
  const RacedModel& raced_;
  const Pipeline& pipeline_;
  std::unique_ptr<nn::Module> model_;
  std::unique_ptr<Optimizer> optimizer_;
  StepDescription description_;
  std::unique_ptr<Step> backward_;
  std::unique_ptr<Step> update_;
  std::vector<Traveller> travellers_;
  Message message_;
  std::int64_t steps_ = 0;
};

// The gradients of the model, one after the other and over again.
std::vector<float> long_gradient(const std::vector<Traveller>& travellers,
                                 std::size_t elements) {
  std::vector<float> result;
  while (result.size() < elements) {
    for (const Traveller& traveller : travellers) {
      const auto values = traveller.gradient.span<float>();
      result.insert(result.end(), values.begin(), values.end());
    }
  }
  result.resize(elements);
  return result;
}

Json time_pipeline(const Pipeline& pipeline, std::vector<float> gradient) {
  std::vector<float> memory(pipeline.needs_feedback() ? gradient.size() : 0);
  std::vector<float> decoded(gradient.size());
  Message message;
  std::vector<double> encoding;
  std::vector<double> decoding;
  std::vector<double> selecting;
  std::vector<std::uint32_t> selected;
  for (std::uint32_t i = 0; i < kTimings; ++i) {
    const MessageId id{1, 0, i, 0};
    encoding.push_back(
        seconds_of([&] { pipeline.encode(gradient, memory, id, message); }));
    decoding.push_back(
        seconds_of([&] { pipeline.decode(message.bytes, id, decoded); }));
    if (pipeline.sparsifier() == nullptr) continue;
    selected.clear();
    selecting.push_back(seconds_of(
        [&] { pipeline.sparsifier()->select(gradient, id, selected); }));
  }
  return {{"elements", gradient.size()},
          {"bytes", message.bytes.size()},
          {"encode_seconds", encoding},
          {"decode_seconds", decoding},
          {"select_seconds", selecting}};
}

}  // namespace

void measure_codec(const WorkerOptions& options) {
  const std::int64_t size = options.integer("batch");
  const std::int64_t steps = options.integer("steps");
  const auto elements = static_cast<std::size_t>(options.integer("elements"));
  const Pipeline pipeline(options.text("pipeline"));
  const DatasetSplits data = open_data({.name = "cifar10",
                                        .folder = options.text("data"),
                                        .batch = size,
                                        .steps = kSequenceSteps});
  Loader loader(data.train, {.batch = size,
                             .shuffle = true,
                             .drop_last = true,
                             .seed = 1,
                             .augment = {}});
  CompressedTraining training(raced_model(options.model), pipeline,
                              types_of(loader.inputs()),
                              options.text("weights"));
  Json losses = Json::array();
  for (std::int64_t i = 0; i < steps; ++i) {
    losses.push_back(training.step(loader.next().tensors));
  }
  Json tensors = Json::array();
  for (const Traveller& traveller : training.travellers()) {
    const auto count = static_cast<double>(training.steps());
    tensors.push_back(
        {{"name", traveller.name},
         {"elements", traveller.gradient.size()},
         {"bypasses", pipeline.bypasses(traveller.gradient.size())},
         {"bytes", static_cast<double>(traveller.bytes) / count},
         {"encode_seconds", traveller.encode_seconds / count},
         {"decode_seconds", traveller.decode_seconds / count}});
  }
  training.differentiate(loader.next().tensors);
  fmt::print("{}\n",
             Json{{"pipeline", pipeline.text()},
                  {"losses", losses},
                  {"tensors", tensors},
                  {"speed",
                   time_pipeline(pipeline, long_gradient(training.travellers(),
                                                         elements))}}
                 .dump());
}

}  // namespace weft::bench
