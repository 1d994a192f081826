#include "weft/compiler/form_cells.h"

#include <map>
#include <tuple>

#include "weft/compiler/recurrent_cells.h"
#include "weft/graph/function_copy.h"
#include "weft/graph/registry.h"

namespace weft {
namespace {

// Adds columns of a constant matrix, or of a row, to those of `to` from
// `first` on.
void add_columns(const ConstantColumns& from, Dim width, Tensor& to,
                 Dim first) {
  const Dim rows = to.shape().rank() == 2 ? to.shape()[0] : 1;
  const Dim to_row = to.size() / rows;
  const Shape& shape = from.tensor->shape();
  const Dim from_row = shape[shape.rank() - 1];
  const float* data = from.tensor->data<float>();
  for (Dim i = 0; i < rows; ++i) {
    for (Dim j = 0; j < width; ++j) {
      const Dim column = from.first + j;
      to.data<float>()[i * to_row + first + j] +=
          from.is_transposed ? data[column * from_row + i]
                             : data[i * from_row + column];
    }
  }
}

// Puts cells in the place of the ops that they were found in.
class CellWriter {
 public:
  explicit CellWriter(const Function& function)
      : function_(function), copy_(function, function.name()) {
    for (RecurrentCell& cell : find_recurrent_cells(function)) {
      // The first of its results that is computed is where the cell goes.
      const ValueId first =
          cell.kind == RecurrentCell::Kind::kLstm ? cell.next_c : cell.next_h;
      cells_.emplace(function.value(first).node, std::move(cell));
    }
  }

  Function run() {
    if (cells_.empty()) return function_;
    copy_.add_parameters();
    NodeId id = 0;
    for (const Node& node : function_.nodes()) {
      const auto cell = cells_.find(id++);
      if (cell != cells_.end()) add_cell(cell->second, node.location);
      // What stands for a result already is kept; others are computed, and
      // left out later if nobody needs them.
      copy_.add_node(node);
    }
    return copy_.finish();
  }

 private:
  using Kind = RecurrentCell::Kind;
  // Constants are the same for cells of the same weights.
  using Key = std::vector<std::tuple<const void*, Dim, bool>>;

  const Shape& shape(ValueId id) const { return function_.type(id).shape; }

  const std::vector<ValueId>& add(const char* op, std::vector<ValueId> inputs,
                                  const Attributes& attributes = {}) {
    return copy_.function()
        .add_node(op_registry().get(op), std::move(inputs), attributes,
                  *location_)
        .outputs;
  }

  // The sums of columns that are given for each block, as one constant.
  ValueId constant_of(const std::vector<std::vector<ConstantColumns>>& blocks,
                      const Shape& shape, Dim width) {
    Key key;
    for (const Dim dim : shape) key.emplace_back(nullptr, dim, false);
    for (const auto& block : blocks) {
      for (const ConstantColumns& each : block) {
        key.emplace_back(each.tensor->raw(), each.first, each.is_transposed);
      }
      key.emplace_back(nullptr, 0, false);
    }
    const auto [found, is_new] = constants_.emplace(std::move(key), -1);
    if (is_new) {
      Tensor value = Tensor::zeros({DType::kF32, shape});
      for (std::size_t k = 0; k < blocks.size(); ++k) {
        for (const ConstantColumns& each : blocks[k]) {
          add_columns(each, width, value, static_cast<Dim>(k) * width);
        }
      }
      found->second = add("constant", {}, {{"value", value}})[0];
    }
    return found->second;
  }

  // The weights with `operand`, of gates `first` to `last`.
  ValueId weights(const RecurrentCell& cell, ValueId operand,
                  std::initializer_list<std::size_t> gates) {
    std::vector<std::vector<ConstantColumns>> blocks;
    for (const std::size_t gate : gates) {
      blocks.emplace_back();
      for (const auto& [value, columns] : cell.gates[gate].products) {
        if (value == operand) blocks.back().push_back(columns);
      }
    }
    const Dim hidden = shape(cell.next_h)[1];
    const Dim columns = static_cast<Dim>(gates.size()) * hidden;
    return constant_of(blocks, {shape(operand)[1], columns}, hidden);
  }
  // A gate of none has no bias.
  ValueId biases(const RecurrentCell& cell,
                 std::initializer_list<std::optional<std::size_t>> gates) {
    std::vector<std::vector<ConstantColumns>> blocks;
    for (const auto gate : gates) {
      blocks.emplace_back();
      if (gate) blocks.back() = cell.gates[*gate].biases;
    }
    const Dim hidden = shape(cell.next_h)[1];
    return constant_of(blocks, {static_cast<Dim>(gates.size()) * hidden},
                       hidden);
  }

  void add_cell(const RecurrentCell& cell, const Location& location) {
    location_ = &location;
    const Shape& rows = shape(cell.x);
    const ValueId x = add("reshape", {copy_[cell.x]},
                          {{"shape", Shape{1, rows[0], rows[1]}}})[0];
    const ValueId h = copy_[cell.h];
    if (cell.kind == Kind::kLstm) {
      const auto all = {std::size_t{0}, std::size_t{1}, std::size_t{2},
                        std::size_t{3}};
      const ValueId w_ih = weights(cell, cell.x, all);
      const ValueId w_hh = weights(cell, cell.h, all);
      const ValueId bias = biases(cell, {0, 1, 2, 3});
      const auto& results =
          add("lstm", {x, h, copy_[cell.c], w_ih, w_hh, bias});
      copy_[cell.next_h] = results[1];
      copy_[cell.next_c] = results[2];
      return;
    }
    const ValueId w_ih = weights(cell, cell.x, {0, 1, 2});
    const ValueId w_hh = weights(cell, cell.h, {0, 1, 3});
    const ValueId b_ih = biases(cell, {0, 1, 2});
    const ValueId b_hh = biases(cell, {std::nullopt, std::nullopt, 3});
    copy_[cell.next_h] = add("gru", {x, h, w_ih, w_hh, b_ih, b_hh})[1];
  }

  const Function& function_;
  FunctionCopy copy_;
  std::map<NodeId, RecurrentCell> cells_;  // by the node before which they go
  std::map<Key, ValueId> constants_;
  const Location* location_ = nullptr;
};

}  // namespace

Function form_cells(const Function& function) {
  return CellWriter(function).run();
}

}  // namespace weft
