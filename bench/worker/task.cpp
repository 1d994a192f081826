// weft-bench task RECIPE: a recipe's model on its first batches, and what it
// makes of the held-out data then. The batches, the rates and the first weights
// are written to --file, for a peer that does the same.
#include "bench/worker/options.h"
#include "bench/worker/serve.h"

#include "weft/train/assembly.h"
#include "weft/train/step/evaluation.h"

namespace weft::bench {
namespace {

constexpr std::int64_t kCheckedSteps = 5;

// Batches one behind the other, as "PART.FEATURE".
void add_batches(BatchSource& source, std::int64_t count,
                 const std::string& part, std::vector<NamedTensor>& tensors) {
  std::vector<Tensor> all;
  for (const BatchInput& input : source.inputs()) {
    TensorType type = input.type;
    type.shape[0] *= count;
    all.push_back(Tensor::empty(type));
  }
  std::int64_t rows = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const Batch& batch = source.next();
    for (std::size_t t = 0; t < all.size(); ++t) {
      all[t].slice(rows, rows + batch.size).copy_from(batch.tensors[t]);
    }
    rows += batch.size;
  }
  for (std::size_t t = 0; t < all.size(); ++t) {
    // The last batch of an epoch may be short.
    tensors.push_back(
        {part + "." + source.inputs()[t].name, all[t].slice(0, rows)});
  }
  source.seek({});
}

Recipe raced_recipe(const WorkerOptions& options) {
  std::vector<std::string> changes{"data.folder=" + options.text("data"),
                                   "train.drop_last=true"};
  // Masks of dropout are drawn differently by a peer.
  if (load_recipe(options.model, changes).model.options.contains("dropout")) {
    changes.emplace_back("model.dropout=0");
  }
  return load_recipe(options.model, changes);
}

class RecipeRace {
 public:
  explicit RecipeRace(const WorkerOptions& options)
      : steps_(options.integer("steps")),
        recipe_(raced_recipe(options)),
        assembly_(assemble(recipe_)),
        optimizer_(make_optimizer(recipe_.optimizer)),
        source_(assembly_.data->train(Shard())) {
    assembly_.model->initialize(1);
    description_.emplace(*assembly_.model, *assembly_.task, source_->inputs(),
                         step_options(recipe_), optimizer_.get());
    write(options.text("file"));
    step_.emplace(*description_, StepCut::kTrain);
    evaluation_.emplace(*description_, held_out());
  }

  Json check() {
    Json losses = Json::array();
    for (std::int64_t i = 0; i < kCheckedSteps; ++i) losses.push_back(step());
    return Json{{"losses", losses}};
  }
  // To the last of the steps, counted from the first.
  Json train() {
    while (done_ < steps_) step();
    const Scores scores(assembly_.task->metrics(), evaluation_->run());
    Json result = Json::object();
    for (const auto& [name, value] : scores.all()) result[name] = value;
    return result;
  }
  // Steps after the last go on with its rate and the batches from the first.
  std::int64_t block() {
    for (std::int64_t i = 0; i < steps_; ++i) step();
    return steps_ * recipe_.train.batch;
  }

 private:
  std::unique_ptr<BatchSource> held_out() const {
    return assembly_.data->measure(assembly_.held_out(), Shard());
  }
  double rate(std::int64_t step) const {
    return recipe_.optimizer.lr.at(step, steps_, source_->batches_per_epoch());
  }

  void write(const std::string& path) {
    std::vector<NamedTensor> tensors;
    for (const auto& named : assembly_.model->parameters()) {
      tensors.push_back(
          {"weights." + named.name, named.parameter->variable.tensor()});
    }
    const Tensor rates = Tensor::empty({DType::kF32, {steps_}});
    for (std::int64_t i = 0; i < steps_; ++i) {
      rates.data<float>()[i] = static_cast<float>(rate(i));
    }
    tensors.push_back({"rates", rates});
    std::vector<std::int64_t> counts =
        assembly_.data->description().category_counts();
    if (!counts.empty()) {
      tensors.push_back(
          {"categories", Tensor::of<std::int64_t>(
                             {static_cast<Dim>(counts.size())}, counts)});
    }
    add_batches(*source_, steps_, "train", tensors);
    const auto measured = held_out();
    add_batches(*measured, measured->batches_per_epoch(), "held_out", tensors);
    write_safetensors(path, tensors);
  }

  double step() {
    if (done_ % steps_ == 0) source_->seek({});
    step_->run(source_->next().tensors,
               {.lr = rate(std::min(done_, steps_ - 1)), .number = done_});
    ++done_;
    return step_->loss();
  }

  std::int64_t steps_;
  Recipe recipe_;
  Assembly assembly_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<BatchSource> source_;
  std::optional<StepDescription> description_;
  std::optional<Step> step_;
  std::optional<Evaluation> evaluation_;
  std::int64_t done_ = 0;
};

}  // namespace

void race_task(const WorkerOptions& options) {
  const std::uint64_t baseline = status_bytes("VmRSS");
  RecipeRace race(options);
  serve({{"check", [&] { return race.check(); }},
         {"train", [&] { return race.train(); }},
         {"run", [&] { return timed([&] { return race.block(); }); }}},
        baseline);
}

}  // namespace weft::bench
