// Concatenations that begin with the same values become columns of the longest
// one, as in a dense block, where each layer reads the maps of all layers
// before it. A map is then copied once, to its place among the columns of one
// wide value, and loops read a run of columns, where they gathered a few from
// each map, once for each layer and forward as well as backward.
//
// The wide value grows in place: what a layer reads is there before its own map
// joins it. So whoever could read the wide value later reads it as it is then.
// That holds for the backward pass, which reads it as it is in the end, and
// computes from it again what forward loops made of it: a normalised map.
#include <algorithm>
#include <map>
#include <span>

#include "weft/base/index.h"
#include "weft/compiler/contiguous.h"
#include "weft/compiler/dead_nodes.h"
#include "weft/compiler/loop_groups.h"
#include "weft/compiler/pass.h"
#include "weft/compiler/readers.h"
#include "weft/graph/inlining.h"
#include "weft/graph/known_ops.h"
#include "weft/ops/constant.h"
#include "weft/ops/dynamic_slice.h"
#include "weft/ops/slice.h"
#include "weft/ops/support/axes.h"

namespace weft {
namespace {

// Fewer concatenations are read in parts for less than a copy of each part.
constexpr std::size_t kLeastConcats = 3;

// Concatenations along the last axis; each begins with all operands of the one
// before.
using Nest = std::vector<NodeId>;

// Whether loops over all of a concatenation's columns alone read it, so that it
// need not be in memory.
bool is_for_loops(const Function& function, const Readers& readers,
                  ValueId concat) {
  const Shape& shape = function.type(concat).shape;
  return !readers.is_result(concat) &&
         std::ranges::all_of(readers.nodes(concat), [&](NodeId id) {
           const Node& node = function.node(id);
           return (node.op->has(kElementwise) && node.outputs.size() == 1 &&
                   function.type(node.outputs[0]).shape == shape) ||
                  *node.op == known::sum || *node.op == known::mean;
         });
}

bool can_nest(const Function& function, const Readers& readers, NodeId id) {
  const Node& node = function.node(id);
  if (*node.op != known::concat) return false;
  const TensorType& type = function.type(node.outputs[0]);
  return resolved_axis(node.attributes.integer("axis"), type.shape.rank()) ==
             type.shape.rank() - 1 &&
         type.bytes() > 0 && operands_in_result(function, node).empty() &&
         is_for_loops(function, readers, node.outputs[0]);
}

// The first nest that is deep enough; nothing if there is none.
Nest find_nest(const Function& function) {
  const Readers readers(function);
  std::map<ValueId, Nest> by_first_operand;
  for (std::size_t i = 0; i < function.nodes().size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    if (!can_nest(function, readers, id)) continue;
    by_first_operand[function.node(id).inputs[0]].push_back(id);
  }
  const auto operands = [&](NodeId id) {
    return std::span(function.node(id).inputs);
  };
  for (auto& [first, all] : by_first_operand) {
    std::ranges::stable_sort(all, {},
                             [&](NodeId id) { return operands(id).size(); });
    // Those that go another way than the longest stay as they are.
    const auto longest = operands(all.back());
    std::erase_if(all, [&](NodeId id) {
      return !std::ranges::equal(operands(id),
                                 longest.first(operands(id).size()));
    });
    if (all.size() >= kLeastConcats) return all;
  }
  return {};
}

// Builds the function with one nest as columns of a wide value.
class Nester {
 public:
  Nester(const Function& function, const Nest& nest)
      : function_(function),
        nest_(nest),
        level_(function.nodes().size(), nest.size() + 1),
        weight_(function.nodes().size(), 0),
        depth_(function.nodes().size(), 0),
        is_made_(function.nodes().size(), false),
        values_(function.value_count()),
        builder_(function.name(), /*lower_composites=*/false) {
    for (std::size_t k = 0; k < nest.size(); ++k) depth_[at(nest[k])] = k + 1;
    for (std::size_t k = 0; k < nest.size(); ++k) find_level(k + 1);
    find_weights();
  }

  // Whether all that is made of the concatenations is cheap enough to be made
  // again where it is read later. Else the wide value would have to stay as it
  // was, and would be copied to grow.
  bool can_grow() const {
    for (std::size_t reader = 0; reader < level_.size(); ++reader) {
      for (const ValueId input : function_.nodes()[reader].inputs) {
        if (function_.is_parameter(input)) continue;
        const std::size_t source = at(function_.value(input).node);
        if (weight_[source] > kMostRecomputedWeight &&
            level_[source] < level_[reader]) {
          return false;
        }
      }
    }
    return true;
  }

  Function run() {
    Function result = builder_.build([&] {
      const std::vector<Value> parameters = add_parameters(builder_, function_);
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        values_[at(function_.parameters()[i])] = parameters[i];
      }
      for (std::size_t i = 0; i < function_.nodes().size(); ++i) {
        if (depth_[i] == 0) make(static_cast<NodeId>(i));
      }
      std::vector<Value> results;
      for (const ValueId id : function_.results()) {
        results.push_back(values_[at(id)]);
      }
      return results;
    });
    return eliminate_dead_nodes(std::move(result));
  }

 private:
  const Node& concat(std::size_t depth) const {
    return function_.node(nest_[depth - 1]);
  }
  const Shape& shape(std::size_t depth) const {
    return function_.type(concat(depth).outputs[0]).shape;
  }

  // The nodes that a concatenation waits for, and no shorter one does.
  void find_level(std::size_t depth) {
    std::vector<NodeId> pending{nest_[depth - 1]};
    while (!pending.empty()) {
      const NodeId id = pending.back();
      pending.pop_back();
      if (level_[at(id)] <= depth) continue;
      level_[at(id)] = depth;
      for (const ValueId input : function_.node(id).inputs) {
        if (!function_.is_parameter(input)) {
          pending.push_back(function_.value(input).node);
        }
      }
    }
  }

  // What it takes to compute elementwise values of concatenations again.
  void find_weights() {
    for (std::size_t i = 0; i < weight_.size(); ++i) {
      const Node& node = function_.nodes()[i];
      if (!node.op->has(kElementwise) || node.outputs.size() != 1) continue;
      double weight = 0;
      bool is_of_concat = false;
      for (const ValueId input : node.inputs) {
        if (function_.is_parameter(input)) continue;
        const std::size_t source = at(function_.value(input).node);
        const bool is_part = depth_[source] > 0 || weight_[source] > 0;
        is_of_concat = is_of_concat ||
                       (is_part && function_.type(input).shape ==
                                       function_.type(node.outputs[0]).shape);
        weight += weight_[source];
      }
      if (is_of_concat) {
        weight_[i] = weight + flops_per_element(function_, node);
      }
    }
  }

  // A node of the old function, behind what it reads.
  void make(NodeId id) {
    if (is_made_[at(id)]) return;
    is_made_[at(id)] = true;
    const Node& node = function_.node(id);
    const std::vector<Value> results = apply(node, level_[at(id)]);
    for (std::size_t i = 0; i < results.size(); ++i) {
      values_[at(node.outputs[i])] = results[i];
    }
  }

  std::vector<Value> apply(const Node& node, std::size_t level) {
    std::vector<Value> operands;
    for (const ValueId input : node.inputs) {
      operands.push_back(operand(input, level));
    }
    std::vector<const Value*> pointers;
    for (const Value& each : operands) pointers.push_back(&each);
    return builder_.apply(*node.op, pointers, node.attributes, node.location);
  }

  // What a node of a level reads for a value of the old function.
  Value operand(ValueId id, std::size_t level) {
    const NodeId source = function_.value(id).node;
    if (source < 0) return stored(id, level);
    const double weight = weight_[at(source)];
    const bool is_again = weight > 0 && weight <= kMostRecomputedWeight &&
                          level_[at(source)] < level;
    return is_again ? made_again(source, level) : stored(id, level);
  }

  Value stored(ValueId id, std::size_t level) {
    const NodeId source = function_.value(id).node;
    if (source < 0) return values_[at(id)];
    if (depth_[at(source)] > 0) return columns(depth_[at(source)], level - 1);
    make(source);
    return values_[at(id)];
  }

  Value made_again(NodeId id, std::size_t level) {
    const auto known = again_.find({id, level});
    if (known != again_.end()) return known->second;
    const Value again = apply(function_.node(id), level)[0];
    again_.emplace(std::pair(id, level), again);
    return again;
  }

  // A concatenation, as columns of what the wide value is behind a longer one.
  Value columns(std::size_t depth, std::size_t of) {
    Value whole = wide(of);
    const Dim width = shape(depth).back();
    if (width == whole.shape().back()) return whole;
    const auto known = columns_.find({depth, of});
    if (known != columns_.end()) return known->second;
    const LayerScope scope(concat(depth).location.scope);
    return columns_[{depth, of}] = slice_axis(whole, -1, 0, width);
  }

  // The wide value with the operands of so many concatenations.
  Value wide(std::size_t depth) {
    if (wide_.size() >= depth) return wide_[depth - 1];
    const std::vector<ValueId>& parts = concat(depth).inputs;
    std::size_t done = 0;
    Value value;
    if (depth > 1) {
      value = wide(depth - 1);
      done = concat(depth - 1).inputs.size();
    }
    const LayerScope scope(concat(depth).location.scope);
    for (; done < parts.size(); ++done) {
      const Value part = stored(parts[done], depth);
      value = done == 0 ? widened(part) : with_part(value, part);
    }
    wide_.push_back(value);
    return value;
  }

  Value widened(const Value& part) {
    const Shape& whole = shape(nest_.size());
    Integers low(at(whole.rank()), 0);
    Integers high = low;
    high.back() = whole.back() - part.shape().back();
    filled_ = part.shape().back();
    return pad(part, std::move(low), std::move(high));
  }

  Value with_part(const Value& value, const Value& part) {
    std::vector<std::int64_t> starts(at(value.shape().rank()), 0);
    starts.back() = filled_;
    filled_ += part.shape().back();
    return dynamic_update_slice(
        value, part,
        builder_.constant(Tensor::of<std::int64_t>(
            {static_cast<Dim>(starts.size())}, starts)));
  }

  const Function& function_;
  const Nest& nest_;
  // How deep the first concatenation is that waits for a node, or one more than
  // the last one, where none waits. The node may read what those before hold.
  std::vector<std::size_t> level_;
  std::vector<double> weight_;      // by node; 0 if it reads no concatenation
  std::vector<std::size_t> depth_;  // by node: its place in the nest; or 0
  std::vector<bool> is_made_;       // by node
  std::vector<Value> values_;       // by value of the old function
  std::vector<Value> wide_;         // by depth
  Dim filled_ = 0;                  // columns of the last one
  std::map<std::pair<std::size_t, std::size_t>, Value> columns_;
  std::map<std::pair<NodeId, std::size_t>, Value> again_;
  FunctionBuilder builder_;
};

Function nest_concats(const Function& function) {
  Function result = function;
  for (Nest nest = find_nest(result); !nest.empty(); nest = find_nest(result)) {
    Nester nester(result, nest);
    if (!nester.can_grow()) break;
    Function next = nester.run();
    result = std::move(next);
  }
  return result;
}

}  // namespace

void register_pass_nest_concats(PassRegistry& passes) {
  passes.add({
      .name = "nest_concats",
      .summary = "makes concatenations that begin alike columns of the longest",
      .order = 96,
      .run = nest_concats,
      .samples =
          {// Nobody waits for a later operand: all read the wide value.
           {R"(func @f(%0: f32[4, 2], %1: f32[4, 1], %2: f32[4, 3], %3: f32[4, 1]) -> (f32[4, 3], f32[6], f32[4, 7]) {
    %4 = concat(%0, %1) {axis = -1} : f32[4, 3]
    %5 = negate(%4) : f32[4, 3]
    %6 = concat(%0, %1, %2) {axis = -1} : f32[4, 6]
    %7 = sum(%6) {axes = [0], keep_dims = false} : f32[6]
    %8 = concat(%0, %1, %2, %3) {axis = -1} : f32[4, 7]
    %9 = negate(%8) : f32[4, 7]
    return %5, %7, %9
  })",
            R"(func @f(%0: f32[4, 2], %1: f32[4, 1], %2: f32[4, 3], %3: f32[4, 1]) -> (f32[4, 3], f32[6], f32[4, 7]) {
    %4 = pad(%0) {low = [0, 0], high = [0, 5]} : f32[4, 7]
    %5 = constant() {value = i64[2](0, 2)} : i64[2]
    %6 = dynamic_update_slice(%4, %1, %5) : f32[4, 7]
    %7 = constant() {value = i64[2](0, 3)} : i64[2]
    %8 = dynamic_update_slice(%6, %2, %7) : f32[4, 7]
    %9 = constant() {value = i64[2](0, 6)} : i64[2]
    %10 = dynamic_update_slice(%8, %3, %9) : f32[4, 7]
    %11 = slice(%10) {begin = [0, 0], end = [9223372036854775807, 3]} : f32[4, 3]
    %12 = negate(%11) : f32[4, 3]
    %13 = slice(%10) {begin = [0, 0], end = [9223372036854775807, 6]} : f32[4, 6]
    %14 = sum(%13) {axes = [0], keep_dims = false} : f32[6]
    %15 = negate(%10) : f32[4, 7]
    return %12, %14, %15
  })"},
           // What is made of a concatenation before the wide value has grown is
           // made again of it for those that read it afterwards.
           {R"(func @f(%0: f32[4, 2], %1: f32[4, 1], %2: f32[3, 1], %3: f32[4, 1]) -> (f32[4, 3], f32[4, 4], f32[4, 5]) {
    %4 = concat(%0, %1) {axis = -1} : f32[4, 3]
    %5 = relu(%4) : f32[4, 3]
    %6 = matmul(%5, %2) : f32[4, 1]
    %7 = concat(%0, %1, %6) {axis = -1} : f32[4, 4]
    %8 = negate(%7) : f32[4, 4]
    %9 = concat(%0, %1, %6, %3) {axis = -1} : f32[4, 5]
    %10 = negate(%9) : f32[4, 5]
    %11 = square(%5) : f32[4, 3]
    return %11, %8, %10
  })",
            R"(func @f(%0: f32[4, 2], %1: f32[4, 1], %2: f32[3, 1], %3: f32[4, 1]) -> (f32[4, 3], f32[4, 4], f32[4, 5]) {
    %4 = pad(%0) {low = [0, 0], high = [0, 3]} : f32[4, 5]
    %5 = constant() {value = i64[2](0, 2)} : i64[2]
    %6 = dynamic_update_slice(%4, %1, %5) : f32[4, 5]
    %7 = slice(%6) {begin = [0, 0], end = [9223372036854775807, 3]} : f32[4, 3]
    %8 = relu(%7) : f32[4, 3]
    %9 = matmul(%8, %2) : f32[4, 1]
    %10 = constant() {value = i64[2](0, 3)} : i64[2]
    %11 = dynamic_update_slice(%6, %9, %10) : f32[4, 5]
    %12 = constant() {value = i64[2](0, 4)} : i64[2]
    %13 = dynamic_update_slice(%11, %3, %12) : f32[4, 5]
    %14 = slice(%13) {begin = [0, 0], end = [9223372036854775807, 4]} : f32[4, 4]
    %15 = negate(%14) : f32[4, 4]
    %16 = negate(%13) : f32[4, 5]
    %17 = slice(%13) {begin = [0, 0], end = [9223372036854775807, 3]} : f32[4, 3]
    %18 = relu(%17) : f32[4, 3]
    %19 = square(%18) : f32[4, 3]
    return %19, %15, %16
  })"},
           // What would be made again costs more than to read it.
           {R"(func @f(%0: f32[4, 2], %1: f32[4, 1], %2: f32[3, 1], %3: f32[4, 1]) -> (f32[4, 3], f32[4, 4], f32[4, 5]) {
    %4 = concat(%0, %1) {axis = -1} : f32[4, 3]
    %5 = gelu(%4) : f32[4, 3]
    %6 = gelu(%5) : f32[4, 3]
    %7 = gelu(%6) : f32[4, 3]
    %8 = matmul(%7, %2) : f32[4, 1]
    %9 = concat(%0, %1, %8) {axis = -1} : f32[4, 4]
    %10 = negate(%9) : f32[4, 4]
    %11 = concat(%0, %1, %8, %3) {axis = -1} : f32[4, 5]
    %12 = negate(%11) : f32[4, 5]
    %13 = square(%7) : f32[4, 3]
    return %13, %10, %12
  })"},
           // Two are copied faster than they are nested; a third begins
           // otherwise, and a fourth is a result.
           {R"(func @f(%0: f32[4, 2], %1: f32[4, 1]) -> (f32[4, 3], f32[4, 4], f32[4, 3], f32[4, 5]) {
    %2 = concat(%0, %1) {axis = -1} : f32[4, 3]
    %3 = negate(%2) : f32[4, 3]
    %4 = concat(%0, %1, %1) {axis = -1} : f32[4, 4]
    %5 = negate(%4) : f32[4, 4]
    %6 = concat(%1, %0) {axis = -1} : f32[4, 3]
    %7 = negate(%6) : f32[4, 3]
    %8 = concat(%0, %1, %0) {axis = -1} : f32[4, 5]
    return %3, %5, %7, %8
  })"}},
  });
}

}  // namespace weft
