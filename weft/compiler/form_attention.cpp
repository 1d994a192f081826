#include "weft/compiler/form_attention.h"

#include <algorithm>

#include "weft/compiler/heads_layout.h"
#include "weft/graph/function_copy.h"
#include "weft/graph/registry.h"

namespace weft {
namespace {

// Up to so many have a kernel that shares out the keys
// (kernels/cpu/attention_few_queries.cpp).
constexpr Dim kFewQueries = 2;

class AttentionWriter {
 public:
  explicit AttentionWriter(const Function& function)
      : function_(function),
        readers_(function),
        copy_(function, function.name()) {}

  Function run() {
    copy_.add_parameters();
    for (const Node& node : function_.nodes()) {
      if (const auto found = find_attention(function_, readers_, node)) {
        location_ = &node.location;
        replace(*found);
      }
      copy_.add_node(node);
    }
    return copy_.finish();
  }

 private:
  const Shape& shape(ValueId id) const { return function_.type(id).shape; }
  ValueId add(const char* op, std::vector<ValueId> inputs,
              const Attributes& attributes = {}) {
    return copy_.function()
        .add_node(op_registry().get(op), std::move(inputs), attributes,
                  *location_)
        .outputs[0];
  }
  ValueId reshaped(ValueId id, const Shape& to) {
    if (copy_.function().type(id).shape == to) return id;
    return add("reshape", {id}, {{"shape", to}});
  }

  void replace(const FoundAttention& found) {
    for (const ValueId id : {found.query, found.key, found.value}) {
      if (shape(id).num_elements() == 0) return;
    }
    const HeadsLayout layout = best_heads_layout(function_, readers_, found);
    // The op itself stays where nothing would be saved.
    if (layout.queries <= kFewQueries || (found.is_op && layout.saved == 0) ||
        !masks_fit(found, layout)) {
      return;
    }
    const ValueId y = call(found, layout);
    const ValueId result =
        layout.joined_result < 0 ? found.result : layout.joined_result;
    copy_[result] = reshaped(y, shape(result));
  }

  ValueId call(const FoundAttention& found, const HeadsLayout& layout) {
    Integers first, step;
    std::vector<ValueId> operands;
    for (std::size_t i = 0; i < 3; ++i) {
      const HeadsPlace& place = layout.operands[i];
      operands.push_back(operand(place, layout, i));
      first.push_back(place.first);
      step.push_back(place.step);
    }
    if (const auto mask = mask_of(found, layout)) operands.push_back(*mask);
    return add("multi_head_attention", std::move(operands),
               {{"heads", layout.heads},
                {"width", layout.width},
                {"value_width", layout.value_width},
                {"first", first},
                {"step", step},
                {"scale", found.scale},
                {"causal", found.is_causal},
                {"length_first", layout.has_length_first},
                {"apart", layout.joined_result < 0}});
  }

  ValueId operand(const HeadsPlace& place, const HeadsLayout& layout,
                  std::size_t i) {
    const Dim rows = i == 0 ? layout.queries : layout.keys;
    ValueId base = copy_[place.base];
    if (!place.is_apart) {
      return reshaped(base, layout.has_length_first
                                ? Shape{rows, layout.batch, place.columns}
                                : Shape{layout.batch, rows, place.columns});
    }
    if (place.is_transposed) {
      Integers order;
      for (int axis = 0; axis < shape(place.base).rank(); ++axis) {
        order.push_back(axis);
      }
      std::swap(order[order.size() - 1], order[order.size() - 2]);
      base = add("transpose", {base}, {{"permutation", order}});
    }
    return reshaped(base, {layout.batch, layout.heads, rows,
                           i == 2 ? layout.value_width : layout.width});
  }

  // --- Masks
  // ------------------------------------------------------------------
  static std::vector<ValueId> masks(const FoundAttention& found) {
    std::vector<ValueId> all = found.added;
    if (found.looks) all.push_back(*found.looks);
    for (const auto& each : found.hidden) all.push_back(each.condition);
    return all;
  }

  // The axes of a mask as those of [batch, heads, queries, keys].
  std::optional<Shape> shape_of_mask(ValueId id,
                                     const HeadsLayout& layout) const {
    const Shape& mask = shape(id);
    const int rank = shape_rank_;
    if (rank == 4 || mask.rank() <= 2) return mask;
    if (rank == 3 && mask[0] == 1) return mask;
    if (rank == 3) return Shape{layout.batch, layout.heads, mask[1], mask[2]};
    // All leading axes but that of the heads are one batch.
    for (int axis = 0; axis < mask.rank() - 3; ++axis) {
      if (mask[axis] != 1) return std::nullopt;
    }
    return Shape(mask.last(3));
  }
  bool masks_fit(const FoundAttention& found, const HeadsLayout& layout) {
    shape_rank_ = shape(found.query).rank();
    return std::ranges::all_of(masks(found), [&](ValueId id) {
      return shape_of_mask(id, layout).has_value();
    });
  }
  ValueId mask(ValueId id, const HeadsLayout& layout) {
    return reshaped(copy_[id], *shape_of_mask(id, layout));
  }

  // One mask of all: of bool, or what is added to the scores.
  std::optional<ValueId> mask_of(const FoundAttention& found,
                                 const HeadsLayout& layout) {
    if (found.looks) return mask(*found.looks, layout);
    std::vector<ValueId> terms;
    for (const ValueId id : found.added) terms.push_back(mask(id, layout));
    for (const auto& each : found.hidden) {
      const ValueId condition = mask(each.condition, layout);
      const ValueId zero =
          add("full", {},
              {{"shape", Shape()}, {"value", 0.0}, {"dtype", DType::kF32}});
      const ValueId fill = reshaped(copy_[each.fill], {});
      terms.push_back(add("where", {condition, each.if_true ? fill : zero,
                                    each.if_true ? zero : fill}));
    }
    if (terms.empty()) return std::nullopt;
    ValueId sum = terms[0];
    for (std::size_t i = 1; i < terms.size(); ++i) {
      sum = add("add", {sum, terms[i]});
    }
    return sum;
  }

  const Function& function_;
  const Readers readers_;
  FunctionCopy copy_;
  const Location* location_ = nullptr;
  int shape_rank_ = 0;  // of the query that is being looked at
};

}  // namespace

Function form_attention(const Function& function) {
  return AttentionWriter(function).run();
}

}  // namespace weft
