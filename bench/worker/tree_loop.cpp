#include "bench/worker/tree_loop.h"

#include "weft/ops/ops.h"

namespace weft::bench {
namespace {

using Values = std::vector<Value>;

Value row_of(const Value& table, const Value& row) {
  return gather(table, reshape(row, {1}));
}

Value with_row(const Value& table, const Value& row, const Value& value) {
  return table + scatter_add(value, reshape(row, {1}), table.shape()[0]);
}

// One tree: its tables and what reads its nodes.
struct Tree {
  const nn::TreeCell& cell;
  Value left;    // [rows]
  Value words;   // [rows, width]
  Value labels;  // [rows]
  Value weight;  // of the classifier
  Value bias;

  Value classify(const Value& states) const {
    return matmul(states, weight) + bias;
  }

  // The row before this one, the tables with this node's state, the loss.
  Values visit(const Values& carried) const {
    const Value& row = carried[0];
    const std::size_t count = cell.widths.size();
    const Value to_left = gather(left, row);
    const auto child = [&](const Value& at) {
      Values state;
      for (std::size_t i = 0; i < count; ++i) {
        state.push_back(row_of(carried[1 + i], at));
      }
      return state;
    };
    const Values state = cond(
        less_equal(to_left, scalar_like(to_left, 0)),
        [&] { return cell.leaf(row_of(words, row), cell.weights); },
        [&] {
          return cell.join(child(row + cast(to_left, row.dtype())),
                           child(row + 1), cell.weights);
        });
    Values next{row - 1};
    for (std::size_t i = 0; i < count; ++i) {
      next.push_back(with_row(carried[1 + i], row, state[i]));
    }
    const Value loss =
        sum(cross_entropy(classify(state[0]), row_of(labels, row)));
    next.push_back(carried.back() + loss);
    return next;
  }

  // The state of the root and the loss of all nodes.
  Values read() const {
    const Dim rows = left.shape()[0];
    const Value is_node = greater_equal(labels, scalar_like(labels, 0));
    Values carried{sum(cast(is_node, DType::kI64)) - 1};
    for (const std::int64_t width : cell.widths) {
      carried.push_back(full({DType::kF32, {rows, width}}, 0));
    }
    carried.push_back(scalar(0, DType::kF32));
    const Values last = while_loop(
        carried,
        [](const Values& v) { return less_equal(scalar_like(v[0], 0), v[0]); },
        [&](const Values& v) { return visit(v); });
    return {slice_axis(last[1], 0, 0, 1), last.back()};
  }
};

}  // namespace

TreeLoop::TreeLoop(std::shared_ptr<nn::TreeNetwork> network)
    : network_(std::move(network)) {
  adopt("trees", network_);
}

nn::TreeReader::Reading TreeLoop::read(const Value& trees,
                                       const Value& labels) {
  const auto value = [&](const char* name) {
    return nn::value_of(nn::find_parameter(*network_, name));
  };
  const nn::TreeCell cell = network_->cell();
  const Value words =
      embedding(value("embedding.weight"), slice_axis(trees, 2, 0, 1));
  const Dim count = trees.shape()[0];
  const Dim rows = trees.shape()[1];
  const Dim width = words.shape()[3];
  const Value weight = value("classifier.weight");
  const Value bias = value("classifier.bias");
  const auto visit = [&](const Values& v) {
    const Value& number = v[0];
    const Value table = row_of(trees, number);
    const Tree tree{cell,
                    reshape(slice_axis(table, 2, 1, 2), {rows}),
                    reshape(row_of(words, number), {rows, width}),
                    reshape(row_of(labels, number), {rows}),
                    weight,
                    bias};
    const Values found = tree.read();
    return Values{number + 1, with_row(v[1], number, found[0]),
                  v[2] + found[1]};
  };
  const Values last = while_loop(
      {Tensor::scalar(std::int64_t{0}),
       full({DType::kF32, {count, cell.widths[0]}}, 0), scalar(0, DType::kF32)},
      [&](const Values& v) {
        return less(v[0], element_count({count}, DType::kI64));
      },
      visit);
  return {last[2], matmul(last[1], weight) + bias};
}

Value TreeLoop::forward(const Value& trees) {
  const Shape& shape = trees.shape();
  return read(trees, full({DType::kI32, {shape[0], shape[1]}}, 0)).logits;
}

}  // namespace weft::bench
