#include "weft/compiler/recurrent_cells.h"

#include <algorithm>
#include <array>
#include <set>

#include "weft/graph/registry.h"
#include "weft/ops/support/slicing.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

// The ops that cells are made of.
struct CellOps {
  const OpDef& add = op_registry().get("add");
  const OpDef& subtract = op_registry().get("subtract");
  const OpDef& multiply = op_registry().get("multiply");
  const OpDef& sigmoid = op_registry().get("sigmoid");
  const OpDef& tanh = op_registry().get("tanh");
  const OpDef& matmul = op_registry().get("matmul");
  const OpDef& slice = op_registry().get("slice");
  const OpDef& split = op_registry().get("split");
  const OpDef& constant = op_registry().get("constant");
  const OpDef& full = op_registry().get("full");
};

class CellFinder {
 public:
  explicit CellFinder(const Function& function)
      : function_(function), readers_(function.value_count(), 0) {
    for (const Node& node : function.nodes()) {
      for (const ValueId id : node.inputs) ++readers_[at(id)];
    }
    for (const ValueId id : function.results()) ++readers_[at(id)];
  }

  std::vector<RecurrentCell> run() {
    std::vector<RecurrentCell> cells;
    for (const Node& node : function_.nodes()) {
      auto cell = lstm_of(node);
      if (!cell) cell = gru_of(node);
      if (cell) cells.push_back(*std::move(cell));
    }
    return cells;
  }

 private:
  using Pair = std::array<ValueId, 2>;

  static Dim columns_of(const Shape& shape) { return shape[shape.rank() - 1]; }
  static std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }
  const Node* node_of(ValueId id, const OpDef& op) const {
    if (function_.is_parameter(id)) return nullptr;
    const Node& node = function_.node(function_.value(id).node);
    return node.op == &op ? &node : nullptr;
  }
  const Shape& shape(ValueId id) const { return function_.type(id).shape; }
  // Gates that others read too, as gradients do, are computed anyway.
  bool is_read_once(ValueId id) const { return readers_[at(id)] == 1; }

  // The operands of an op of two, in both orders.
  std::vector<Pair> operands(ValueId id, const OpDef& op) const {
    const Node* node = node_of(id, op);
    if (node == nullptr) return {};
    return {{node->inputs[0], node->inputs[1]},
            {node->inputs[1], node->inputs[0]}};
  }
  // What σ or tanh is taken of, where nobody else reads the result.
  std::optional<ValueId> inside(ValueId id, const OpDef& op) const {
    const Node* node = node_of(id, op);
    if (node == nullptr || !is_read_once(id)) return std::nullopt;
    return node->inputs[0];
  }
  const Tensor* constant_of(ValueId id) const {
    const Node* node = node_of(id, ops_.constant);
    return node == nullptr ? nullptr : &node->attributes.get<Tensor>("value");
  }

  // Adds the terms of columns [first, first + width) of a sum; false where one
  // is neither a product with a constant nor a constant.
  bool collect(ValueId id, Dim first, Dim width, GateSum& sum) const {
    if (const Tensor* bias = constant_of(id)) {
      // It is the same for all rows.
      if (bias->shape().rank() == 0) return false;
      const Dim columns = columns_of(bias->shape());
      if (bias->size() != columns || first + width > columns) return false;
      sum.biases.push_back({bias, first});
      return true;
    }
    if (const Node* node = node_of(id, ops_.add)) {
      // A bias that is broadcast has as many columns; what has one has not.
      return std::ranges::all_of(node->inputs, [&](ValueId input) {
        return shape(input).rank() > 0 &&
               columns_of(shape(input)) == columns_of(shape(id)) &&
               collect(input, first, width, sum);
      });
    }
    if (const Node* node = node_of(id, ops_.matmul)) {
      return collect_product(*node, first, width, sum);
    }
    if (const Node* node = node_of(id, ops_.slice)) {
      return collect_slice(*node, first, width, sum);
    }
    if (const Node* node = node_of(id, ops_.split)) {
      if (node->attributes.integer("axis") != 1) return false;
      const Integers& sizes = node->attributes.integers("sizes");
      for (std::size_t k = 0; node->outputs[k] != id; ++k) first += sizes[k];
      return collect(node->inputs[0], first, width, sum);
    }
    return false;
  }

  bool collect_product(const Node& node, Dim first, Dim width,
                       GateSum& sum) const {
    const Attributes& attributes = node.attributes;
    const Tensor* w = constant_of(node.inputs[1]);
    if (w == nullptr || w->shape().rank() != 2 ||
        attributes.flag("transpose_a") ||
        attributes.get<std::string>("activation") != "none" ||
        shape(node.inputs[0]).rank() != 2) {
      return false;
    }
    sum.products.push_back(
        {node.inputs[0], {w, first, attributes.flag("transpose_b")}});
    return node.inputs.size() < 3 || collect(node.inputs[2], first, width, sum);
  }

  bool collect_slice(const Node& node, Dim first, Dim width,
                     GateSum& sum) const {
    const Shape& whole = shape(node.inputs[0]);
    if (whole.rank() != 2) return false;
    const auto inputs = function_.input_types(node);
    const auto ranges =
        slice_ranges({*node.op, inputs, node.attributes}, whole);
    const bool has_all_rows = ranges[0].begin == 0 && ranges[0].step == 1 &&
                              ranges[0].size == whole[0];
    if (!has_all_rows || ranges[1].step != 1 || is_symbolic(ranges[1].begin)) {
      return false;
    }
    return collect(node.inputs[0], ranges[1].begin + first, width, sum);
  }

  // The sum that a gate is σ or tanh of.
  std::optional<GateSum> gate(ValueId id, const OpDef& op) const {
    const auto z = inside(id, op);
    if (!z) return std::nullopt;
    return sum_of(*z);
  }
  std::optional<GateSum> sum_of(ValueId z) const {
    GateSum sum;
    if (shape(z).rank() != 2 || is_symbolic(shape(z)[1]) ||
        !collect(z, 0, shape(z)[1], sum)) {
      return std::nullopt;
    }
    return sum;
  }

  // The one thing beside `h` that gates are products of; none where there are
  // others, or none. A sum without either is no gate.
  static std::optional<ValueId> input_of(const std::vector<GateSum>& gates,
                                         ValueId h) {
    std::set<ValueId> others;
    for (const GateSum& gate : gates) {
      for (const auto& product : gate.products) {
        if (product.first != h) others.insert(product.first);
      }
    }
    if (others.size() != 1) return std::nullopt;
    return *others.begin();
  }

  bool is_f32_state(ValueId id) const {
    return function_.type(id).dtype == DType::kF32 && shape(id).rank() == 2;
  }

  // `node` makes h' = o tanh(c').
  std::optional<RecurrentCell> lstm_of(const Node& node) const {
    if (node.op != &ops_.multiply || !is_f32_state(node.outputs[0])) {
      return std::nullopt;
    }
    for (const auto& [o, t] : operands(node.outputs[0], ops_.multiply)) {
      const Node* tanh = node_of(t, ops_.tanh);
      const auto output = gate(o, ops_.sigmoid);
      if (tanh == nullptr || !output) continue;
      const ValueId next_c = tanh->inputs[0];
      for (const auto& [kept, added] : operands(next_c, ops_.add)) {
        for (const auto& [f, c] : operands(kept, ops_.multiply)) {
          for (const auto& [i, g] : operands(added, ops_.multiply)) {
            const auto forget = gate(f, ops_.sigmoid);
            const auto input = gate(i, ops_.sigmoid);
            const auto cell = gate(g, ops_.tanh);
            if (!forget || !input || !cell || shape(c) != shape(next_c)) {
              continue;
            }
            auto found = with_operands({RecurrentCell::Kind::kLstm,
                                        -1,
                                        -1,
                                        c,
                                        {*input, *forget, *cell, *output},
                                        node.outputs[0],
                                        next_c});
            if (found) return found;
          }
        }
      }
    }
    return std::nullopt;
  }

  // Which of the two that all gates are products of is the state: one that has
  // its shape. Where both have, the result is the same either way.
  std::optional<RecurrentCell> with_operands(RecurrentCell cell) const {
    for (const auto& product : cell.gates[0].products) {
      const ValueId h = product.first;
      const auto x = input_of(cell.gates, h);
      if (!x || shape(h) != shape(cell.next_h) || shape(*x)[0] != shape(h)[0]) {
        continue;
      }
      cell.x = *x;
      cell.h = h;
      return cell;
    }
    return std::nullopt;
  }

  bool is_one(ValueId id) const {
    const Node* node = node_of(id, ops_.full);
    if (node != nullptr) return node->attributes.real("value") == 1;
    const Tensor* tensor = constant_of(id);
    return tensor != nullptr && tensor->size() == 1 && tensor->item(0) == 1;
  }

  // `node` makes h' = (1 - z) n + z h, or n + z (h - n).
  std::optional<RecurrentCell> gru_of(const Node& node) const {
    if (node.op != &ops_.add || !is_f32_state(node.outputs[0])) {
      return std::nullopt;
    }
    for (const auto& [first, second] : operands(node.outputs[0], ops_.add)) {
      for (const auto& [z, h] : operands(second, ops_.multiply)) {
        const Node* sigmoid = node_of(z, ops_.sigmoid);
        if (sigmoid == nullptr) continue;
        for (const auto& [rest, n] : operands(first, ops_.multiply)) {
          const Node* minus = node_of(rest, ops_.subtract);
          if (minus == nullptr || !is_one(minus->inputs[0]) ||
              minus->inputs[1] != z || readers_[at(z)] != 2) {
            continue;
          }
          if (auto cell = gru_with(node, sigmoid->inputs[0], n, h)) return cell;
        }
        const Node* minus = node_of(h, ops_.subtract);
        if (minus == nullptr || minus->inputs[1] != first || !is_read_once(z)) {
          continue;
        }
        auto cell = gru_with(node, sigmoid->inputs[0], first, minus->inputs[0]);
        if (cell) return cell;
      }
    }
    return std::nullopt;
  }

  std::optional<RecurrentCell> gru_with(const Node& node, ValueId z, ValueId n,
                                        ValueId h) const {
    const Node* tanh = node_of(n, ops_.tanh);
    const auto update = sum_of(z);
    if (tanh == nullptr || !update || shape(h) != shape(node.outputs[0])) {
      return std::nullopt;
    }
    for (const auto& [from_x, scaled] : operands(tanh->inputs[0], ops_.add)) {
      for (const auto& [r, from_h] : operands(scaled, ops_.multiply)) {
        const auto reset = gate(r, ops_.sigmoid);
        const auto of_x = sum_of(from_x);
        const auto of_h = sum_of(from_h);
        if (!reset || !of_x || !of_h) continue;
        const std::vector<GateSum> gates = {*reset, *update, *of_x, *of_h};
        const auto x = input_of(gates, h);
        // The reset gate scales what h is multiplied by, and nothing of x.
        const auto is_of = [](const GateSum& sum, ValueId id) {
          return std::ranges::all_of(sum.products, [&](const auto& product) {
            return product.first == id;
          });
        };
        if (!x || !is_of(*of_x, *x) || !is_of(*of_h, h) ||
            shape(*x)[0] != shape(h)[0]) {
          continue;
        }
        return RecurrentCell{RecurrentCell::Kind::kGru, *x, h, -1, gates,
                             node.outputs[0],           -1};
      }
    }
    return std::nullopt;
  }

  const Function& function_;
  std::vector<int> readers_;  // by value
  CellOps ops_;
};

}  // namespace

std::vector<RecurrentCell> find_recurrent_cells(const Function& function) {
  return CellFinder(function).run();
}

}  // namespace weft
