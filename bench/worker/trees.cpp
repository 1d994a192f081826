// weft-bench trees FORM: training a tree LSTM on the first trees of a treebank,
// by tagged execution (`batched`, or `single` activations) or as a `loop`.
#include "bench/worker/options.h"
#include "bench/worker/serve.h"
#include "bench/worker/training.h"
#include "bench/worker/tree_loop.h"

#include "weft/base/file.h"
#include "weft/data/tree_bank.h"
#include "weft/nn/model.h"

namespace weft::bench {
namespace {

constexpr std::int64_t kDistinctBatches = 8;
constexpr int kCheckedSteps = 5;
// They are those of recipes/sst-treelstm.toml.
constexpr double kLearningRate = 0.05;
constexpr double kWeightDecay = 1e-4;
constexpr std::int32_t kClasses = 5;
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

// The first batches, in the order of the file; words are those of all of it.
DatasetRef first_trees(const std::string& folder, std::int64_t batch) {
  const std::string path = folder + "/train.txt";
  auto trees = parse_trees(read_text(path, kMostBytes), path, kClasses);
  const std::vector<ParseTree> first(trees.begin(),
                                     trees.begin() + batch * kDistinctBatches);
  std::size_t most = 1;
  for (const ParseTree& tree : first) most = std::max(most, tree.nodes.size());
  // Words first: a bank counts those of all trees.
  const TreeBank bank(trees, static_cast<std::int64_t>(most));
  return bank.dataset(first, "trees", std::vector<std::string>(kClasses, "-"));
}

std::vector<Tensor> batch_of(const Dataset& data, std::int64_t number,
                             std::int64_t size) {
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < size; ++i) rows.push_back(number * size + i);
  std::vector<Tensor> tensors;
  std::vector<TensorView> views;
  for (const Feature& feature : data.features()) {
    Shape shape{size};
    for (const Dim dim : feature.type.shape) shape.push_back(dim);
    tensors.push_back(Tensor::zeros({feature.type.dtype, shape}));
    views.push_back(tensors.back().view());
  }
  data.read(rows, views);
  return tensors;
}

std::shared_ptr<nn::TreeNetwork> make_network(const Dataset& data) {
  const auto words = static_cast<std::int64_t>(data.words().size());
  std::shared_ptr<nn::Module> model =
      build_model(model_registry().get("tree-lstm"),
                  {.example = data.features()[0].type.shape,
                   .classes = kClasses,
                   .words = words},
                  {});
  model->initialize(1);
  return std::dynamic_pointer_cast<nn::TreeNetwork>(model);
}

void write_weights(const nn::Module& model, const std::string& path) {
  std::vector<NamedTensor> tensors;
  for (const auto& named : model.parameters()) {
    tensors.push_back({named.name, named.parameter->variable.tensor()});
  }
  write_safetensors(path, tensors);
}

}  // namespace

void race_trees(const WorkerOptions& options) {
  const std::uint64_t baseline = status_bytes("VmRSS");
  const std::int64_t size = options.integer("batch");
  const std::int64_t steps = options.integer("steps");
  const DatasetRef data = first_trees(options.text("data"), size);
  const auto network = make_network(*data);
  write_weights(*network, options.text("weights"));
  std::vector<std::vector<Tensor>> batches;
  for (std::int64_t i = 0; i < kDistinctBatches; ++i) {
    batches.push_back(batch_of(*data, i, size));
  }
  const std::string& form = options.model;
  std::shared_ptr<nn::Layer> model = network;
  if (form == "loop") model = std::make_shared<TreeLoop>(network);
  const auto optimizer =
      make_optimizer("adagrad", {{"weight_decay", kWeightDecay}});
  StepOptions settings;
  settings.tagged.batching =
      form == "single" ? Batching::kNever : Batching::kWhereItPays;
  Step training(
      describe_step(*model, "tree-labels", *optimizer,
                    {batches[0][0].type(), batches[0][1].type()}, settings),
      StepCut::kTrain);
  std::int64_t done = 0;
  const auto step = [&] {
    training.run(batches[static_cast<std::size_t>(done % kDistinctBatches)],
                 {.lr = kLearningRate, .number = done});
    ++done;
    return training.loss();
  };
  const auto check = [&] {
    Json losses = Json::array();
    for (int i = 0; i < kCheckedSteps; ++i) losses.push_back(step());
    return Json{{"losses", losses}};
  };
  const auto block = [&] {
    for (std::int64_t i = 0; i < steps; ++i) step();
    return steps * size;
  };
  serve({{"check", check}, {"run", [&] { return timed(block); }}}, baseline);
}

}  // namespace weft::bench
