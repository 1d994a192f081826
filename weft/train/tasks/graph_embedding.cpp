// Vectors for the nodes of a graph, so that products of nodes which walks meet
// together are larger than those of others (Perozzi et al., "DeepWalk", 2014;
// the loss is negative sampling of Mikolov et al., 2013).
#include "weft/nn/node_scorer.h"
#include "weft/nn/scope.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/unary.h"
#include "weft/train/step/logistic_loss.h"
#include "weft/train/step/nearest_nodes.h"
#include "weft/train/step/training_task.h"

namespace weft {
namespace {

class GraphEmbedding final : public TrainingTask {
 public:
  std::vector<MetricDef> metrics() const override {
    return {{.name = "loss"},
            {.name = "auc", .measure = 1, .is_higher_better = true}};
  }
  std::string_view deciding_metric() const override { return "auc"; }
  std::string unit(const DataDescription&) const override { return "pairs"; }

  std::optional<Refusal> declines(const DataDescription& data) const override {
    if (data.features().size() == 3 && data.features()[2].name == "others") {
      return std::nullopt;
    }
    return Refusal{in_quotes(data.name()),
                   "it is no graph that could be walked, as nodes are embedded",
                   "data.source = \"walks\""};
  }
  ModelInput model_input(const DataDescription& data) const override {
    return {.example = {},
            .classes = static_cast<std::int64_t>(data.classes().size())};
  }

  // node [N], near [N], others [N, K].
  Objective objective(nn::Module& model,
                      std::span<const Value> batch) const override {
    nn::NodeScorer& scorer = scorer_of(model);
    const Dim count = batch[0].shape()[0];
    const Value near =
        nn::to_f32(scorer.scores(batch[0], reshape(batch[1], {count, 1})));
    const Value others = nn::to_f32(scorer.scores(batch[0], batch[2]));
    const Value pairs = element_count(batch[0].shape(), DType::kF32);
    // What a walk has met is to be told from what was drawn: one is told "yes",
    // the others "no".
    const Value loss = sum(logistic_loss(near, scalar_like(near, 1))) +
                       sum(logistic_loss(others, scalar_like(others, 0)));
    // How often what is near scores higher than another; equal ones count
    // half. That is the area under the ROC curve (Hanley and McNeil, 1982).
    const Value above = cast(greater(near, others), DType::kF32);
    const Value equals = cast(equal(near, others), DType::kF32);
    return {loss / pairs,
            {{loss, pairs},
             {sum(above + 0.5 * equals),
              element_count(others.shape(), DType::kF32)}}};
  }

  // How near each node is to all, [N, nodes].
  std::vector<Value> prediction(nn::Module& model,
                                std::span<const Value> known) const override {
    return {nn::to_f32(scorer_of(model).all_scores(known[0]))};
  }
  std::unique_ptr<Predictor> predictor(
      const PredictorContext& context) const override {
    return find_nearest_nodes(context);
  }

 private:
  static nn::NodeScorer& scorer_of(nn::Module& model) {
    return model_as<nn::NodeScorer>(model, "graph-embedding",
                                    "a model of nodes");
  }
};

}  // namespace

void register_training_task_graph_embedding(TrainingTaskRegistry& tasks) {
  tasks.add({.name = "graph-embedding",
             .summary = "nodes of a graph to vectors, near where walks are",
             .source = "walks",
             .make = [](const Options&) -> std::unique_ptr<TrainingTask> {
               return std::make_unique<GraphEmbedding>();
             }});
}

}  // namespace weft
