// Products of a few rows with one right operand are one with the rows of all:
// reading that operand is what they take, and it is read once. So it is with
// the inputs of an unrolled recurrent layer, which wait for no state.
#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "weft/base/index.h"
#include "weft/compiler/pass.h"
#include "weft/compiler/replacement.h"
#include "weft/graph/registry.h"
#include "weft/ops/join.h"

namespace weft {
namespace {

// With more rows arithmetic is the limit, and a smaller operand stays in the
// caches next to the cores from one product to the next.
constexpr Dim kMostRows = 64;
constexpr std::size_t kLeastBytes = 64 << 10;

const OpDef& matmul_op() {
  static const OpDef& op = op_registry().get("matmul");
  return op;
}

class Stacks {
 public:
  explicit Stacks(const Function& function) : function_(function) {
    for (std::size_t i = 0; i < function.nodes().size(); ++i) {
      const Node& node = function.nodes()[i];
      if (is_of_few_rows(node)) {
        products_[node.inputs[1]].push_back(static_cast<NodeId>(i));
      }
    }
  }

  // The next products that are one; fewer than two if there are none.
  std::vector<NodeId> next() const {
    for (const auto& [matrix, products] : products_) {
      if (products.size() < 2) continue;
      for (const auto& [level, waiting] : by_level(products)) {
        // One with a bias may stand before those without.
        for (std::size_t i = 0; i + 1 < waiting.size(); ++i) {
          std::vector<NodeId> stack = like_first(std::span(waiting).subspan(i));
          if (stack.size() >= 2) return stack;
        }
      }
    }
    return {};
  }

 private:
  bool is_of_few_rows(const Node& node) const {
    if (node.op != &matmul_op()) return false;
    const Shape& x = function_.type(node.inputs[0]).shape;
    const TensorType& w = function_.type(node.inputs[1]);
    return x.rank() == 2 && w.shape.rank() == 2 && 2 * x[0] <= kMostRows &&
           w.bytes() >= kLeastBytes && !node.attributes.flag("transpose_a");
  }

  // A level is how many others of them a product waits for, one behind another:
  // those of one level do not wait for each other.
  std::map<int, std::vector<NodeId>> by_level(
      const std::vector<NodeId>& products) const {
    std::vector<int> level(function_.value_count(), 0);
    std::map<int, std::vector<NodeId>> found;
    auto next = products.begin();
    for (std::size_t i = at(*next); i < function_.nodes().size(); ++i) {
      const Node& node = function_.nodes()[i];
      int own = 0;
      for (const ValueId id : node.inputs) own = std::max(own, level[at(id)]);
      if (next != products.end() && at(*next) == i) {
        found[own++].push_back(*next++);
      }
      for (const ValueId id : node.outputs) level[at(id)] = own;
    }
    return found;
  }

  // As many as may be together, of those that are like the first.
  std::vector<NodeId> like_first(std::span<const NodeId> products) const {
    std::vector<NodeId> stack;
    Dim rows = 0;
    const Node& first = function_.node(products[0]);
    for (const NodeId id : products) {
      const Node& node = function_.node(id);
      const Dim own = function_.type(node.inputs[0]).shape[0];
      // They have one matrix; a bias is the same, or none has one.
      const bool is_alike =
          node.attributes == first.attributes &&
          std::ranges::equal(std::span(node.inputs).subspan(1),
                             std::span(first.inputs).subspan(1));
      if (!is_alike || rows + own > kMostRows) continue;
      stack.push_back(id);
      rows += own;
    }
    return stack;
  }

  const Function& function_;
  std::map<ValueId, std::vector<NodeId>> products_;  // by right operand
};

Replacement stacked(const Function& function,
                    const std::vector<NodeId>& products) {
  Replacement replacement;
  replacement.nodes = products;
  std::vector<Dim> rows;
  for (const NodeId id : products) {
    const Node& node = function.node(id);
    replacement.results.push_back(node.outputs[0]);
    replacement.inputs.push_back(node.inputs[0]);
    rows.push_back(function.type(node.outputs[0]).shape[0]);
  }
  const Node& first = function.node(products.front());
  const std::vector<ValueId> lefts = replacement.inputs;
  replacement.inputs.insert(replacement.inputs.end(), first.inputs.begin() + 1,
                            first.inputs.end());
  replacement.make = [&first, lefts, rows](const NewValue& value) {
    std::vector<Value> left;
    for (const ValueId id : lefts) left.push_back(value(id));
    std::vector<Value> operands = {concat(left, 0)};
    for (std::size_t i = 1; i < first.inputs.size(); ++i) {
      operands.push_back(value(first.inputs[i]));
    }
    return split(
        call_all(*first.op, operands, first.attributes, first.location)[0],
        rows, 0);
  };
  return replacement;
}

Function stack_products(const Function& function) {
  Function result = function;
  for (;;) {
    const std::vector<NodeId> products = Stacks(result).next();
    if (products.size() < 2) return result;
    const std::array replacements = {stacked(result, products)};
    std::optional<Function> next = replace_nodes(result, replacements);
    WEFT_CHECK(next.has_value(), "products of one level waited for each other");
    result = *std::move(next);
  }
}

}  // namespace

void register_pass_stack_products(PassRegistry& passes) {
  passes.add({
      .name = "stack_products",
      .summary = "makes products of few rows with one right operand one, with "
                 "the rows of all",
      .order = 93,
      .keeps_bits = false,
      .run = stack_products,
      .samples =
          {{R"(func @f(%0: f32[1, 128], %1: f32[2, 128], %2: f32[128, 128]) -> (f32[1, 128], f32[2, 128]) {
    %3 = matmul(%0, %2) : f32[1, 128]
    %4 = matmul(%1, %2) : f32[2, 128]
    return %3, %4
  })",
            R"(func @f(%0: f32[1, 128], %1: f32[2, 128], %2: f32[128, 128]) -> (f32[1, 128], f32[2, 128]) {
    %3 = concat(%0, %1) {axis = 0} : f32[3, 128]
    %4 = matmul(%3, %2) : f32[3, 128]
    %5, %6 = split(%4) {sizes = [1, 2], axis = 0} : f32[1, 128], f32[2, 128]
    return %5, %6
  })"},
           {R"(func @f(%0: f32[1, 128], %1: f32[2, 128], %2: f32[128, 128], %3: f32[128]) -> (f32[1, 128], f32[2, 128]) {
    %4 = matmul(%0, %2, %3) : f32[1, 128]
    %5 = matmul(%1, %2, %3) : f32[2, 128]
    return %4, %5
  })",
            R"(func @f(%0: f32[1, 128], %1: f32[2, 128], %2: f32[128, 128], %3: f32[128]) -> (f32[1, 128], f32[2, 128]) {
    %4 = concat(%0, %1) {axis = 0} : f32[3, 128]
    %5 = matmul(%4, %2, %3) : f32[3, 128]
    %6, %7 = split(%5) {sizes = [1, 2], axis = 0} : f32[1, 128], f32[2, 128]
    return %6, %7
  })"},
           // The first one has a bias.
           {R"(func @f(%0: f32[1, 128], %1: f32[1, 128], %2: f32[2, 128], %3: f32[128, 128], %4: f32[128]) -> (f32[1, 128], f32[1, 128], f32[2, 128]) {
    %5 = matmul(%0, %3, %4) : f32[1, 128]
    %6 = matmul(%1, %3) : f32[1, 128]
    %7 = matmul(%2, %3) : f32[2, 128]
    return %5, %6, %7
  })",
            R"(func @f(%0: f32[1, 128], %1: f32[1, 128], %2: f32[2, 128], %3: f32[128, 128], %4: f32[128]) -> (f32[1, 128], f32[1, 128], f32[2, 128]) {
    %5 = matmul(%0, %3, %4) : f32[1, 128]
    %6 = concat(%1, %2) {axis = 0} : f32[3, 128]
    %7 = matmul(%6, %3) : f32[3, 128]
    %8, %9 = split(%7) {sizes = [1, 2], axis = 0} : f32[1, 128], f32[2, 128]
    return %5, %8, %9
  })"},
           // Each has a bias of its own.
           {R"(func @f(%0: f32[1, 128], %1: f32[2, 128], %2: f32[128, 128], %3: f32[128], %4: f32[128]) -> (f32[1, 128], f32[2, 128]) {
    %5 = matmul(%0, %2, %3) : f32[1, 128]
    %6 = matmul(%1, %2, %4) : f32[2, 128]
    return %5, %6
  })"},
           // The second one waits for the first.
           {R"(func @f(%0: f32[1, 128], %1: f32[128, 128]) -> (f32[1, 128]) {
    %2 = matmul(%0, %1) : f32[1, 128]
    %3 = tanh(%2) : f32[1, 128]
    %4 = matmul(%3, %1) : f32[1, 128]
    return %4
  })"},
           // The right operand is small.
           {R"(func @f(%0: f32[1, 8], %1: f32[1, 8], %2: f32[8, 8]) -> (f32[1, 8], f32[1, 8]) {
    %3 = matmul(%0, %2) : f32[1, 8]
    %4 = matmul(%1, %2) : f32[1, 8]
    return %3, %4
  })"},
           // There are many rows.
           {R"(func @f(%0: f32[60, 128], %1: f32[60, 128], %2: f32[128, 128]) -> (f32[60, 128], f32[60, 128]) {
    %3 = matmul(%0, %2) : f32[60, 128]
    %4 = matmul(%1, %2) : f32[60, 128]
    return %3, %4
  })"},
           // One reads its columns as rows.
           {R"(func @f(%0: f32[1, 128], %1: f32[1, 128], %2: f32[128, 128]) -> (f32[1, 128], f32[1, 128]) {
    %3 = matmul(%0, %2) : f32[1, 128]
    %4 = matmul(%1, %2) {transpose_b = true} : f32[1, 128]
    return %3, %4
  })"}},
  });
}

}  // namespace weft
