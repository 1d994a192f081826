// A recursive network (Socher et al., "Recursive deep models for semantic
// compositionality over a sentiment treebank", 2013, section 4.1, with ReLU):
// a leaf is its word, an inner node relu([left; right] W + b), and a softmax
// stands at every node.
#include "weft/nn/model.h"
#include "weft/nn/tree.h"
#include "weft/ops/ops.h"

namespace weft {
namespace {

using States = nn::TreeCell::States;
using Weights = nn::TreeCell::Weights;

class TreeRnn : public nn::TreeNetwork {
 public:
  explicit TreeRnn(const nn::TreeNetworkOptions& options)
      : TreeNetwork(options),
        hidden_(options.hidden),
        weight_(parameter("weight", {2 * hidden_, hidden_},
                          nn::Init::fan_in(2 * hidden_))),
        bias_(parameter("bias", {hidden_}, nn::Init::constant(0))) {}

  nn::TreeCell cell() const override {
    // A leaf's state is its word, so words are as wide as states.
    return {.name = "tree_rnn",
            .widths = {hidden_},
            .weights = {nn::value_of(weight_), nn::value_of(bias_)},
            .leaf = [](const Value& word, Weights) { return States{word}; },
            .join =
                [](const States& left, const States& right, Weights w) {
                  // One product takes both children, as the W of the paper
                  // does.
                  const Value both = concat(std::vector{left[0], right[0]}, 1);
                  return States{relu(matmul(both, w[0]) + w[1])};
                }};
  }

 private:
  std::int64_t hidden_;
  nn::ParameterRef weight_;
  nn::ParameterRef bias_;
};

std::unique_ptr<nn::Module> build_tree_rnn(const ModelInput& input,
                                           const Options& options) {
  require_trees("model tree-rnn", input);
  const auto hidden = option<std::int64_t>(options, "hidden");
  return std::make_unique<TreeRnn>(
      nn::TreeNetworkOptions{.words = input.words,
                             .embedding = hidden,
                             .hidden = hidden,
                             .classes = input.classes,
                             .dropout = option<double>(options, "dropout")});
}

}  // namespace

void register_model_tree_rnn(ModelRegistry& models) {
  models.add({.name = "tree-rnn",
              .summary = "recursive network with ReLU, a softmax at every node",
              .task = "tree-labels",
              .options = {{"hidden", std::int64_t{35}, "of a word and a node",
                           kAtLeastOne},
                          {"dropout", 0.0, "of the words", kBelowOne}},
              .takes_words = true,
              .build = build_tree_rnn});
}

}  // namespace weft
