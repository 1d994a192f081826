// weft-bench drift MODEL: how far sparse training stays behind what dense
// training would have applied, on a run on real data, against the lemma of
// Alistarh et al., "The convergence of sparsified gradient methods", NeurIPS
// 2018:
//
//   |e'| <= gamma |e| + (gamma + xi) |alpha G|,   gamma = sqrt((n - K) / n)
//
// e is the mean of the ranks' memories, G the mean of their gradients, and xi
// as measured: how far the top K of the mean is from the mean of the top Ks,
// in units of |alpha G|.
#include <cmath>
#include <fmt/core.h>
#include <numeric>

#include "bench/worker/options.h"
#include "bench/worker/serve.h"
#include "bench/worker/training.h"

#include "weft/comm/codec/pipeline.h"
#include "weft/data/fetch.h"
#include "weft/data/loader.h"

namespace weft::bench {
namespace {

constexpr double kLearningRate = 0.1;

double norm(std::span<const double> values) {
  return std::sqrt(
      std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
}

// One step's figures.
struct Drift {
  double outstanding;  // |v - x|
  double bound;        // of the lemma
  double xi;
  double unbalanced;  // |x - (v - e)|, which ought to be rounding
};

// Several ranks in turn on one model, all their gradients as one vector.
class SparseTraining {
 public:
  SparseTraining(const RacedModel& raced, const std::vector<TensorType>& batch,
                 const std::string& weights, int ranks, const std::string& text)
      : pipeline_(text),
        model_(make_raced_model(raced, batch, weights)),
        optimizer_(make_raced_optimizer(raced)),
        description_(describe_step(*model_,
                                   model_registry().get(raced.name).task,
                                   *optimizer_, batch)),
        trainable_(description_.tensors(EntryRole::kParameter)) {
    for (const NamedTensor& named : trainable_) {
      gradients_.push_back(Tensor::zeros(named.tensor.type()));
      const auto values = named.tensor.span<float>();
      dense_.insert(dense_.end(), values.begin(), values.end());
    }
    sparse_ = dense_;
    description_.set_gradients(gradients_);
    backward_ = std::make_unique<Step>(description_, StepCut::kGradients);
    memories_.resize(static_cast<std::size_t>(ranks),
                     std::vector<float>(dense_.size()));
  }

  std::size_t size() const { return dense_.size(); }

  Drift step(Loader& loader) {
    const auto ranks = static_cast<double>(memories_.size());
    std::vector<double> update(size());       // alpha G
    std::vector<double> accumulated(size());  // mean of what may be sent
    std::vector<double> sent(size());
    for (std::size_t rank = 0; rank < memories_.size(); ++rank) {
      const std::vector<float> scaled = gradient(loader.next().tensors);
      std::vector<float>& memory = memories_[rank];
      for (std::size_t i = 0; i < size(); ++i) {
        update[i] += scaled[i] / ranks;
        accumulated[i] += (static_cast<double>(memory[i]) + scaled[i]) / ranks;
      }
      const MessageId id{1, 0, static_cast<std::uint32_t>(steps_),
                         static_cast<std::uint32_t>(rank)};
      decoded_.resize(size());
      pipeline_.encode(scaled, memory, id, message_);
      pipeline_.decode(message_.bytes, id, decoded_);
      for (std::size_t i = 0; i < size(); ++i) sent[i] += decoded_[i] / ranks;
    }
    apply(update, sent);
    return drift(update, accumulated, sent);
  }

 private:
  std::vector<float> gradient(std::span<const Tensor> batch) {
    backward_->run(batch, {.number = steps_});
    std::vector<float> result;
    for (const Tensor& each : gradients_) {
      for (const float value : each.span<float>()) {
        result.push_back(static_cast<float>(kLearningRate * value));
      }
    }
    return result;
  }

  void apply(std::span<const double> update, std::span<const double> sent) {
    std::size_t at = 0;
    for (const NamedTensor& named : trainable_) {
      for (float& value : Tensor(named.tensor).span<float>()) {
        sparse_[at] -= sent[at];
        dense_[at] -= update[at];
        value = static_cast<float>(sparse_[at++]);
      }
    }
    ++steps_;
  }

  Drift drift(std::span<const double> update,
              const std::vector<double>& accumulated,
              std::span<const double> sent) {
    const std::vector<double> best = top(accumulated);
    std::vector<double> missed(size());
    std::vector<double> apart(size());
    std::vector<double> unbalanced(size());
    for (std::size_t i = 0; i < size(); ++i) {
      missed[i] = best[i] - sent[i];
      apart[i] = sparse_[i] - dense_[i];
      unbalanced[i] = apart[i];
      for (const auto& memory : memories_) {
        unbalanced[i] -= memory[i] / static_cast<double>(memories_.size());
      }
    }
    const double kept = static_cast<double>(selected_.size());
    const double gamma = std::sqrt(1 - kept / static_cast<double>(size()));
    const double length = norm(update);
    const double xi = norm(missed) / length;
    bound_ = gamma * bound_ + (gamma + xi) * length;
    return {norm(apart), bound_, xi, norm(unbalanced)};
  }

  // The entries that the sparsifier picks of the mean.
  std::vector<double> top(const std::vector<double>& values) {
    const std::vector<float> rounded(values.begin(), values.end());
    selected_.clear();
    pipeline_.sparsifier()->select(rounded, {}, selected_);
    std::vector<double> result(values.size());
    for (const std::uint32_t i : selected_) result[i] = values[i];
    return result;
  }

  Pipeline pipeline_;
  std::unique_ptr<nn::Module> model_;
  std::unique_ptr<Optimizer> optimizer_;
  StepDescription description_;
  std::vector<NamedTensor> trainable_;
  std::unique_ptr<Step> backward_;
  std::vector<Tensor> gradients_;
  std::vector<double> dense_;   // x: every gradient applied
  std::vector<double> sparse_;  // v: what was sent applied
  std::vector<std::vector<float>> memories_;
  std::vector<float> decoded_;
  std::vector<std::uint32_t> selected_;
  Message message_;
  double bound_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace

void measure_drift(const WorkerOptions& options) {
  const std::int64_t batch = options.integer("batch");
  const DatasetSplits data = open_data({.name = "cifar10",
                                        .folder = options.text("data"),
                                        .batch = batch,
                                        .steps = kSequenceSteps});
  Loader loader(data.train, {.batch = batch,
                             .shuffle = true,
                             .drop_last = true,
                             .seed = 1,
                             .augment = {}});
  SparseTraining training(raced_model(options.model), types_of(loader.inputs()),
                          options.text("weights"),
                          static_cast<int>(options.integer("ranks")),
                          options.text("pipeline"));
  Json drifts = Json::array();
  for (std::int64_t i = 0; i < options.integer("steps"); ++i) {
    const Drift drift = training.step(loader);
    drifts.push_back({{"outstanding", drift.outstanding},
                      {"bound", drift.bound},
                      {"xi", drift.xi},
                      {"unbalanced", drift.unbalanced}});
  }
  fmt::print("{}\n",
             Json{{"elements", training.size()}, {"drifts", drifts}}.dump());
}

}  // namespace weft::bench
