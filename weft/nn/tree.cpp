#include "weft/nn/tree.h"

#include "weft/ops/ops.h"
#include "weft/ops/recursive.h"
#include "weft/tensor/symbol.h"

namespace weft::nn {
namespace {

using Values = std::vector<Value>;

// The tables of a batch of trees and all weights. Every activation needs them
// and none changes them: they are passed from call to call.
class Forest {
 public:
  // The left children, the words' vectors and, if nodes are labelled, the
  // labels, one row per node of all trees; the classifier; the cell's weights.
  Forest(std::span<const Value> values, bool is_labelled)
      : values_(values), is_labelled_(is_labelled) {}

  bool is_labelled() const { return is_labelled_; }
  const Value& left() const { return values_[0]; }
  const Value& words() const { return values_[1]; }
  const Value& labels() const { return values_[2]; }
  TreeCell::Weights classifier() const { return after_tables().first(2); }
  TreeCell::Weights cell_weights() const { return after_tables().subspan(2); }
  Dim rows() const { return left().shape()[0]; }
  // The arguments of a call for `index`.
  Values at(const Value& index) const {
    Values all{index};
    all.insert(all.end(), values_.begin(), values_.end());
    return all;
  }

 private:
  std::span<const Value> after_tables() const {
    // There is one table more where nodes are labelled.
    return values_.subspan(is_labelled_ ? 3 : 2);
  }

  std::span<const Value> values_;
  bool is_labelled_;
};

// What follows the index among the parameters of a body.
std::span<const Value> rest(const Values& parameters) {
  return std::span<const Value>(parameters).subspan(1);
}

Value row_of(const Value& table, const Value& index) {
  return gather(table, reshape(index, {1}));
}

Value classify(const Value& states, TreeCell::Weights classifier) {
  return matmul(states, classifier[0]) + classifier[1];
}

// The state of `node` and, where nodes are labelled, the loss of its tree.
Values subtree(const Value& node, const Forest& forest, const TreeCell& cell,
               const Recursion& self) {
  const Value left = gather(forest.left(), node);
  const auto loss_of = [&](const Values& states) {
    const Value logits = classify(states[0], forest.classifier());
    return sum(cross_entropy(logits, row_of(forest.labels(), node)));
  };
  // A left child lies further down, so a distance of 0 tells a leaf.
  return cond(
      less_equal(left, scalar_like(left, 0)),
      [&] {
        Values own =
            cell.leaf(row_of(forest.words(), node), forest.cell_weights());
        if (forest.is_labelled()) own.push_back(loss_of(own));
        return own;
      },
      [&] {
        // Neither call needs the other, so both may run at once.
        Values a = self(forest.at(node + cast(left, node.dtype())));
        Values b = self(forest.at(node + 1));
        // A labelled node has its loss behind its state, so that one recursion
        // returns both.
        if (!forest.is_labelled())
          return cell.join(a, b, forest.cell_weights());
        const Value below = a.back() + b.back();
        a.pop_back();
        b.pop_back();
        Values own = cell.join(a, b, forest.cell_weights());
        own.push_back(below + loss_of(own));
        return own;
      });
}

std::vector<TensorType> state_types(const TreeCell& cell, bool is_labelled) {
  std::vector<TensorType> types;
  for (const std::int64_t width : cell.widths) {
    types.push_back({DType::kF32, {1, width}});
  }
  if (is_labelled) types.push_back({DType::kF32, {}});
  return types;
}

// The first vectors of the states of the `count` roots, which are `step` rows
// apart, as [count, width], and the sum of the losses.
//
// The trees are called one from within the other, so that a function of fixed
// size calls them all; they do not wait for each other.
Values trees(const Forest& all, const TreeCell& cell, Dim count, double step) {
  const bool is_labelled = all.is_labelled();
  const auto one_and_others = [&](const Values& v, const Recursion& others) {
    const Value& number = v[0];
    const Forest forest(rest(v).subspan(1), is_labelled);
    const Value& roots = v[1];
    return cond(
        // Numbers run down from the last tree, so the recursion ends below 0.
        less(number, scalar_like(number, 0)),
        [&] {
          Values none{zeros_like(roots)};
          if (is_labelled) none.push_back(scalar(0, DType::kF32));
          return none;
        },
        [&] {
          const auto body = [&](const Values& w, const Recursion& self) {
            return subtree(w[0], Forest(rest(w), is_labelled), cell, self);
          };
          const Values own = recursive(cell.name, forest.at(number * step),
                                       state_types(cell, is_labelled), body);
          Values arguments = forest.at(number - 1);
          arguments.insert(arguments.begin() + 1, roots);
          Values sums = others(arguments);
          sums[0] = sums[0] +
                    scatter_add(own[0], reshape(number, {1}), roots.shape()[0]);
          if (is_labelled) sums[1] = sums[1] + own.back();
          return sums;
        });
  };
  // The count may be symbolic, so the last number is read from 0, 1, … of that
  // size.
  const Value last = reshape(slice_axis(iota(count), 0, -1, kToEnd), Shape{});
  const TensorType table{DType::kF32, {count, cell.widths[0]}};
  std::vector<TensorType> results{table};
  if (is_labelled) results.push_back({DType::kF32, {}});
  Values arguments = all.at(last);
  arguments.insert(arguments.begin() + 1, full(table, 0));
  return recursive(cell.name + "_forest", arguments, results, one_and_others);
}

}  // namespace

TreeNetwork::TreeNetwork(const TreeNetworkOptions& options)
    : embedding_(child("embedding", Embedding{options.words, options.embedding,
                                              Init::uniform(0.05)})),
      dropout_(child("dropout", Dropout{options.dropout})),
      weight_(parameter("classifier.weight", {options.hidden, options.classes},
                        Init::fan_in(options.hidden))),
      bias_(
          parameter("classifier.bias", {options.classes}, Init::constant(0))) {}

TreeNetwork::Reading TreeNetwork::walk(const Value& trees_given,
                                       const Value& labels) {
  const Shape& shape = trees_given.shape();
  const Dim count = shape[0];
  const Dim rows = dim_multiply(count, shape[1]);
  const Value table = reshape(trees_given, {rows, 2});
  const auto column = [&](std::int64_t index) {
    return reshape(slice_axis(table, 1, index, index + 1), {rows});
  };
  const TreeCell own = cell();
  Values values{column(1), dropout_(embedding_(column(0)))};
  if (labels.is_defined()) values.push_back(reshape(labels, {rows}));
  // The order is that in which Forest takes the values apart.
  values.insert(values.end(), {value_of(weight_), value_of(bias_)});
  values.insert(values.end(), own.weights.begin(), own.weights.end());
  const Forest forest(values, labels.is_defined());
  const Values found = trees(forest, own, count, static_cast<double>(shape[1]));
  return {labels.is_defined() ? found[1] : Value(),
          classify(found[0], forest.classifier())};
}

TreeNetwork::Reading TreeNetwork::read(const Value& trees,
                                       const Value& labels) {
  // forward() has its scope from operator(); read() must open one itself.
  const LayerScope scope(name());
  return walk(trees, labels);
}

Value TreeNetwork::forward(const Value& trees) {
  return walk(trees, Value()).logits;
}

}  // namespace weft::nn
