// Two vectors for each node, one as itself and one as what is near another
// (Mikolov et al., "Distributed representations of words and phrases", 2013).
#include "weft/nn/embedding.h"
#include "weft/nn/model.h"
#include "weft/nn/node_scorer.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"

namespace weft {
namespace {

class NodeEmbedding final : public nn::NodeScorer {
 public:
  NodeEmbedding(std::int64_t nodes, std::int64_t width)
      : node_(child("node",
                    nn::Embedding{
                        nodes, width,
                        nn::Init::uniform(0.5 / static_cast<double>(width))})),
        // Zeros, as the authors' program begins: nothing is near at first.
        near_(child("near",
                    nn::Embedding{nodes, width, nn::Init::constant(0)})) {}

  Value scores(const Value& nodes, const Value& others) override {
    const Value own = node_(nodes);
    const Shape& shape = own.shape();
    // A product with few others is a sum of rows; only all_scores() is worth a
    // product of matrices.
    return sum(reshape(own, {shape[0], 1, shape[1]}) * near_(others), {-1});
  }
  Value all_scores(const Value& nodes) override {
    return near_.logits(node_(nodes));
  }

 private:
  nn::Embedding& node_;
  nn::Embedding& near_;
};

}  // namespace

void register_model_node_embedding(ModelRegistry& models) {
  models.add(
      {.name = "node-embedding",
       .summary = "two vectors for each node of a graph",
       .task = "graph-embedding",
       .options =
           {{"width", std::int64_t{128}, "numbers of a vector", {.least = 1}}},
       .build = [](const ModelInput& input,
                   const Options& options) -> std::unique_ptr<nn::Module> {
         return std::make_unique<NodeEmbedding>(
             input.classes, option<std::int64_t>(options, "width"));
       }});
}

}  // namespace weft
