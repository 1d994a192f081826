// The binary tree LSTM with a softmax at every node (Tai, Socher and Manning,
// "Improved semantic representations from tree-structured long short-term
// memory networks", 2015, eq. 9 to 14 with N = 2, and section 4.1).
#include "weft/nn/model.h"
#include "weft/nn/tree.h"
#include "weft/ops/ops.h"

namespace weft {
namespace {

using States = nn::TreeCell::States;
using Weights = nn::TreeCell::Weights;

// The cell's four weights, in the order in which they are passed.
enum { kLeafWeight, kLeafBias, kWeight, kBias };

Value part(const Value& x, std::int64_t index, std::int64_t width) {
  return slice_axis(x, 1, index * width, (index + 1) * width);
}

// c = word W, o = σ(word W'), h = o ⊙ tanh(c).
States leaf(const Value& word, Weights w, std::int64_t hidden) {
  const Value x = matmul(word, w[kLeafWeight]) + w[kLeafBias];
  const Value c = part(x, 0, hidden);
  return {sigmoid(part(x, 1, hidden)) * tanh(c), c};
}

// The gates i, f of the left child, f of the right one, o and the update u are
// one product.
States join(const States& left, const States& right, Weights w,
            std::int64_t hidden) {
  const Value gates =
      matmul(concat(std::vector{left[0], right[0]}, 1), w[kWeight]) + w[kBias];
  const auto gate = [&](std::int64_t i) {
    return sigmoid(part(gates, i, hidden));
  };
  // c = i ⊙ u + f_l ⊙ c_l + f_r ⊙ c_r and h = o ⊙ tanh(c) (eq. 13 and 14).
  const Value c = gate(0) * tanh(part(gates, 4, hidden)) + gate(1) * left[1] +
                  gate(2) * right[1];
  return {gate(3) * tanh(c), c};
}

class TreeLstm : public nn::TreeNetwork {
 public:
  explicit TreeLstm(const nn::TreeNetworkOptions& options)
      : TreeNetwork(options),
        hidden_(options.hidden),
        leaf_weight_(parameter("leaf.weight", {options.embedding, 2 * hidden_},
                               nn::Init::fan_in(options.embedding))),
        leaf_bias_(
            parameter("leaf.bias", {2 * hidden_}, nn::Init::constant(0))),
        weight_(parameter("weight", {2 * hidden_, 5 * hidden_},
                          nn::Init::fan_in(hidden_))),
        bias_(parameter("bias", {5 * hidden_}, nn::Init::constant(0))) {}

  nn::TreeCell cell() const override {
    return {
        .name = "tree_lstm",
        .widths = {hidden_, hidden_},
        .weights = {nn::value_of(leaf_weight_), nn::value_of(leaf_bias_),
                    nn::value_of(weight_), nn::value_of(bias_)},
        .leaf = [hidden = hidden_](const Value& word,
                                   Weights w) { return leaf(word, w, hidden); },
        .join = [hidden = hidden_](
                    const States& left, const States& right,
                    Weights w) { return join(left, right, w, hidden); }};
  }

 private:
  std::int64_t hidden_;
  nn::ParameterRef leaf_weight_;
  nn::ParameterRef leaf_bias_;
  nn::ParameterRef weight_;
  nn::ParameterRef bias_;
};

std::unique_ptr<nn::Module> build_tree_lstm(const ModelInput& input,
                                            const Options& options) {
  require_trees("model tree-lstm", input);
  const auto hidden = option<std::int64_t>(options, "hidden");
  const auto width = option<std::int64_t>(options, "embedding");
  return std::make_unique<TreeLstm>(
      nn::TreeNetworkOptions{.words = input.words,
                             .embedding = width,
                             .hidden = hidden,
                             .classes = input.classes,
                             .dropout = option<double>(options, "dropout")});
}

}  // namespace

void register_model_tree_lstm(ModelRegistry& models) {
  models.add(
      {.name = "tree-lstm",
       .summary = "binary tree LSTM, a softmax at every node",
       .task = "tree-labels",
       .options = {{"embedding", std::int64_t{150}, "of a word", kAtLeastOne},
                   {"hidden", std::int64_t{150}, "of a node", kAtLeastOne},
                   {"dropout", 0.0, "of the words", kBelowOne}},
       .takes_words = true,
       .build = build_tree_lstm});
}

}  // namespace weft
