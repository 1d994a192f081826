#include "weft/compiler/found_attention.h"

#include "weft/compiler/causal_mask.h"
#include "weft/graph/registry.h"
#include "weft/ops/support/attention.h"

namespace weft {
namespace {

// What a mask fills in for hidden scores: beside it no score counts.
constexpr double kMostHidden = -1e30;

struct AttentionOps {
  const OpDef& attention = op_registry().get("attention");
  const OpDef& matmul = op_registry().get("matmul");
  const OpDef& softmax = op_registry().get("softmax");
  const OpDef& multiply = op_registry().get("multiply");
  const OpDef& divide = op_registry().get("divide");
  const OpDef& add = op_registry().get("add");
  const OpDef& where = op_registry().get("where");
  const OpDef& constant = op_registry().get("constant");
  const OpDef& full = op_registry().get("full");
};

const AttentionOps& ops() {
  static const AttentionOps all;
  return all;
}

class Finder {
 public:
  Finder(const Function& function, const Readers& readers)
      : function_(function), readers_(readers) {}

  std::optional<FoundAttention> at_op(const Node& node) const {
    // The sums of exp are for a gradient.
    const ValueId lse = node.outputs[1];
    if (readers_.is_result(lse) || !readers_.nodes(lse).empty()) {
      return std::nullopt;
    }
    FoundAttention found{node.inputs[0], node.inputs[1], node.inputs[2]};
    found.scale =
        attention_scale(node.attributes, shape(node.inputs[0]).back());
    found.is_causal = node.attributes.flag("causal");
    if (node.inputs.size() > 3) found.looks = node.inputs[3];
    found.result = node.outputs[0];
    found.is_op = true;
    return found;
  }

  std::optional<FoundAttention> at_product(const Node& node) const {
    const Node* softmax = made_for_one(node.inputs[0], ops().softmax);
    if (!is_plain_product(node) || node.attributes.flag("transpose_a") ||
        softmax == nullptr) {
      return std::nullopt;
    }
    const int rank = shape(softmax->inputs[0]).rank();
    if (normalize_axis(softmax->attributes.integer("axis"), rank, "softmax") !=
        rank - 1) {
      return std::nullopt;
    }
    FoundAttention found{-1, -1, node.inputs[1]};
    found.value_is_transposed = node.attributes.flag("transpose_b");
    found.result = node.outputs[0];
    const Node* scores = scores_of(softmax->inputs[0], found);
    if (scores == nullptr || !is_plain_product(*scores)) return std::nullopt;
    found.query = without_scale(scores->inputs[0], found.scale);
    found.key = without_scale(scores->inputs[1], found.scale);
    found.query_is_transposed = scores->attributes.flag("transpose_a");
    found.key_is_transposed = !scores->attributes.flag("transpose_b");
    // Beside other masks a query may see nothing, which is NaN as written, and
    // would not be where later keys have a score of their own.
    if (found.hidden.size() + found.added.size() == 1 && hides_later(found)) {
      found.is_causal = true;
      found.hidden.clear();
      found.added.clear();
    }
    return found;
  }

 private:
  const Shape& shape(ValueId id) const { return function_.type(id).shape; }
  const Node* node_of(ValueId id) const {
    if (function_.is_parameter(id)) return nullptr;
    return &function_.node(function_.value(id).node);
  }
  // The node of that op, if only one other reads what it makes.
  const Node* made_for_one(ValueId id, const OpDef& op) const {
    const Node* node = node_of(id);
    const bool is_it = node != nullptr && node->op == &op;
    return is_it && readers_.only(id) >= 0 ? node : nullptr;
  }

  // A product of stacks as they are, with no bias and nothing behind it.
  bool is_plain_product(const Node& node) const {
    if (node.op != &ops().matmul || node.inputs.size() != 2 ||
        node.attributes.text("activation") != "none") {
      return false;
    }
    const Shape& a = shape(node.inputs[0]);
    const Shape& b = shape(node.inputs[1]);
    return a.rank() == b.rank() && a.rank() >= 2 &&
           Shape(a.first(a.rank() - 2)) == Shape(b.first(b.rank() - 2));
  }

  std::optional<double> number_of(ValueId id) const {
    const Node* node = node_of(id);
    if (node == nullptr) return std::nullopt;
    if (node->op == &ops().full) return node->attributes.real("value");
    if (node->op != &ops().constant) return std::nullopt;
    const Tensor& tensor = node->attributes.get<Tensor>("value");
    if (tensor.size() != 1 || tensor.dtype() != DType::kF32) {
      return std::nullopt;
    }
    return tensor.item(0);
  }

  // What is multiplied by a number or divided by one, and the factor; -1 where
  // that is not what the node does.
  std::pair<ValueId, double> scaled(const Node& node) const {
    if (node.op == &ops().multiply || node.op == &ops().divide) {
      const bool divides = node.op == &ops().divide;
      for (const std::size_t i : {1u, 0u}) {
        const auto number = number_of(node.inputs[i]);
        const ValueId x = node.inputs[1 - i];
        if (!number || !(function_.type(x) == function_.type(node.outputs[0])))
          continue;
        if (divides && i == 0) continue;
        return {x, divides ? 1 / *number : *number};
      }
    }
    return {-1, 1};
  }
  ValueId without_scale(ValueId id, double& scale) const {
    for (const Node* node = node_of(id); node != nullptr; node = node_of(id)) {
      const auto [x, factor] = scaled(*node);
      if (x < 0) break;
      scale *= factor;
      id = x;
    }
    return id;
  }

  // The product that scores come from, with what is done to them on the way to
  // the softmax noted in `found`; null for anything else. What it goes through
  // is read once, so that no node is looked at twice.
  const Node* scores_of(ValueId id, FoundAttention& found) const {
    const Node* node = node_of(id);
    if (node == nullptr || readers_.only(id) < 0) return nullptr;
    if (node->op == &ops().matmul) return node;
    if (const auto [x, factor] = scaled(*node); x >= 0) {
      found.scale *= factor;
      return scores_of(x, found);
    }
    // A mask below a scale would be scaled, too.
    if (found.scale != 1) return nullptr;
    if (node->op == &ops().add) return scores_below_sum(*node, found);
    if (node->op == &ops().where) return scores_below_where(*node, found);
    return nullptr;
  }
  const Node* scores_below_sum(const Node& node, FoundAttention& found) const {
    for (const std::size_t i : {0u, 1u}) {
      FoundAttention further = found;
      further.added.push_back(node.inputs[1 - i]);
      const Node* scores = scores_of_all_pairs(node.inputs[i], node, further);
      if (scores == nullptr) continue;
      found = std::move(further);
      return scores;
    }
    return nullptr;
  }
  const Node* scores_below_where(const Node& node,
                                 FoundAttention& found) const {
    for (const std::size_t i : {1u, 2u}) {
      const ValueId fill = node.inputs[3 - i];
      const auto number = number_of(fill);
      if (!number || *number > kMostHidden) continue;
      found.hidden.push_back({node.inputs[0], i == 2, fill});
      return scores_of_all_pairs(node.inputs[i], node, found);
    }
    return nullptr;
  }
  // Whether the one mask hides the keys behind each query, and nothing else.
  bool hides_later(const FoundAttention& found) const {
    if (!found.hidden.empty()) {
      const auto& hidden = found.hidden.front();
      return hidden.if_true
                 ? is_true_for_later_keys(function_, hidden.condition)
                 : is_true_up_to_query(function_, hidden.condition);
    }
    const Node* node = node_of(found.added.front());
    if (node == nullptr || node->op != &ops().where) return false;
    const auto if_true = number_of(node->inputs[1]);
    const auto if_false = number_of(node->inputs[2]);
    if (!if_true || !if_false) return false;
    const bool later_is_hidden = *if_true <= kMostHidden && *if_false == 0;
    const bool rest_is_hidden = *if_false <= kMostHidden && *if_true == 0;
    const ValueId condition = node->inputs[0];
    return (later_is_hidden && is_true_for_later_keys(function_, condition)) ||
           (rest_is_hidden && is_true_up_to_query(function_, condition));
  }
  // A mask may have fewer elements than scores, but not the other way round.
  const Node* scores_of_all_pairs(ValueId id, const Node& reader,
                                  FoundAttention& found) const {
    const bool has_all =
        function_.type(id) == function_.type(reader.outputs[0]);
    return has_all ? scores_of(id, found) : nullptr;
  }

  const Function& function_;
  const Readers& readers_;
};

}  // namespace

std::optional<FoundAttention> find_attention(const Function& function,
                                             const Readers& readers,
                                             const Node& node) {
  if (node.op != &ops().attention && node.op != &ops().matmul) {
    return std::nullopt;
  }
  const Finder finder(function, readers);
  auto found = node.op == &ops().attention ? finder.at_op(node)
                                           : finder.at_product(node);
  if (found && function.type(found->result).dtype != DType::kF32) {
    return std::nullopt;
  }
  return found;
}

}  // namespace weft
