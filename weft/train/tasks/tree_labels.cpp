// Trees to one of several classes at every node. The loss of a tree is the sum
// over its nodes, and its prediction that of its root (Tai et al., 2015,
// section 4.1).
#include "weft/nn/scope.h"
#include "weft/nn/tree.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/loss.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/train/step/hits.h"
#include "weft/train/step/training_task.h"

namespace weft {
namespace {

class TreeLabels final : public TrainingTask {
 public:
  std::vector<MetricDef> metrics() const override {
    return {{.name = "loss"},
            {.name = "accuracy", .measure = 1, .is_higher_better = true}};
  }
  std::string_view deciding_metric() const override { return "accuracy"; }
  std::string unit(const DataDescription&) const override { return "trees"; }

  std::optional<Refusal> declines(const DataDescription& data) const override {
    // Running text has its vocabulary as classes, and no words() of its own;
    // sentences with translations have both, but are no tables of nodes.
    if (!data.words().empty() && !data.classes().empty() &&
        data.features()[0].type.shape.rank() == 2) {
      return std::nullopt;
    }
    return Refusal{in_quotes(data.name()), "it has no trees with labels", ""};
  }
  ModelInput model_input(const DataDescription& data) const override {
    return {.example = data.features()[0].type.shape,
            .classes = static_cast<std::int64_t>(data.classes().size()),
            .words = static_cast<std::int64_t>(data.words().size())};
  }

  // Labels are i32[N, rows], -1 beyond a tree's end.
  Objective objective(nn::Module& model,
                      std::span<const Value> batch) const override {
    const auto [loss, logits] = reader(model).read(batch[0], batch[1]);
    const Shape per_tree{batch[0].shape()[0]};
    // A tree's root is row 0 of its table (nn/tree.h).
    const Value root_label = reshape(slice_axis(batch[1], 1, 0, 1), per_tree);
    // The labels of all nodes count for the loss, but a tree is right if its
    // root is.
    const Value count = element_count(per_tree, DType::kF32);
    return {loss / count,
            {{loss, count}, {count_hits(logits, root_label), count}}};
  }

  std::vector<Value> prediction(nn::Module& model,
                                std::span<const Value> known) const override {
    return {softmax(nn::to_f32(reader(model)(known[0])))};
  }

 private:
  static nn::TreeReader& reader(nn::Module& model) {
    return model_as<nn::TreeReader>(model, "tree-labels", "a model of trees");
  }
};

}  // namespace

void register_training_task_tree_labels(TrainingTaskRegistry& tasks) {
  tasks.add({.name = "tree-labels",
             .summary = "trees to one of several classes at every node",
             .make = [](const Options&) -> std::unique_ptr<TrainingTask> {
               return std::make_unique<TreeLabels>();
             }});
}

}  // namespace weft
