// Where all columns of a value are cut out of it and added to those of another
// one, the two are added as they are, and the sum is cut. That is what becomes
// of the gradients of maps that stand in several concatenations, as in a dense
// block: each concatenation's gradient was written, cut into the maps', and
// these were added one by one. Now the loop that makes it adds what has come
// from later layers, and writes the gradient of all maps side by side (Jung et
// al., "Restructuring batch normalization to accelerate CNN training", MLSys
// 2019: inter-composite-layer fusion, backward).
//
// As many numbers are added as before, and each gradient is written once, so
// that the pass has no guard by price. Few columns of a wide value are not read
// any more, which takes whole lines of the cache, and the gradients of all
// layers no longer stay until the first one has its own.
#include <algorithm>
#include <array>

#include "weft/compiler/columns.h"
#include "weft/compiler/pass.h"
#include "weft/compiler/readers.h"
#include "weft/compiler/replacement.h"
#include "weft/graph/known_ops.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/slice.h"

namespace weft {
namespace {

// Some columns of a value, and the sum of them and others.
struct ColumnSum {
  Dim first, width;
  NodeId add;
  ValueId other;  // whose columns of the same numbers are added
};

class ColumnSums {
 public:
  explicit ColumnSums(const Function& function)
      : function_(function), readers_(function) {}

  // The sums of all columns of `value` with those of one other, in order;
  // nothing if some go elsewhere too.
  std::vector<ColumnSum> of(ValueId value) const {
    std::vector<ColumnSum> sums;
    if (readers_.is_result(value)) return {};
    for (const NodeId reader : readers_.nodes(value)) {
      const auto sum = sum_of(value, function_.node(reader));
      if (!sum) return {};
      sums.push_back(*sum);
    }
    std::ranges::sort(sums, {}, &ColumnSum::first);
    Dim end = 0;
    for (const ColumnSum& sum : sums) {
      // A gap would be added for nothing, and an overlap twice.
      if (sum.first != end || sum.other != sums[0].other) return {};
      end += sum.width;
    }
    return end == columns_in(value) ? sums : std::vector<ColumnSum>();
  }

  Dim columns_in(ValueId value) const {
    const Shape& shape = function_.type(value).shape;
    return shape.rank() == 0 ? 1 : shape.back();
  }

 private:
  std::optional<ColumnSum> sum_of(ValueId value, const Node& cut) const {
    if (cut.op != &known::slice.get()) return std::nullopt;
    const auto range = columns_of(function_, cut.outputs[0]);
    const NodeId add = readers_.only(cut.outputs[0]);
    if (!range || add < 0 || !(*function_.node(add).op == known::add)) {
      return std::nullopt;
    }
    const std::vector<ValueId>& terms = function_.node(add).inputs;
    const ValueId term = terms[terms[0] == cut.outputs[0] ? 1 : 0];
    const auto other = columns_of(function_, term);
    // An add may broadcast, which the columns of two values do not.
    if (!other || other->whole == value || other->first != range->first ||
        !(function_.type(term) == function_.type(cut.outputs[0]))) {
      return std::nullopt;
    }
    return ColumnSum{range->first, columns_in(term), add, other->whole};
  }

  const Function& function_;
  Readers readers_;
};

Replacement summed(const Function& function, ValueId value,
                   const std::vector<ColumnSum>& sums) {
  const ValueId other = sums[0].other;
  Replacement replacement;
  replacement.inputs = {other, value};
  for (const ColumnSum& sum : sums) {
    replacement.nodes.push_back(sum.add);
    replacement.results.push_back(function.node(sum.add).outputs[0]);
  }
  const bool is_wider = !(function.type(other) == function.type(value));
  const Dim width = sums.back().first + sums.back().width;
  replacement.make = [=](const NewValue& get) {
    const Value all = get(other);
    const Value sum =
        (is_wider ? slice_axis(all, -1, 0, width) : all) + get(value);
    std::vector<Value> parts;
    for (const ColumnSum& part : sums) {
      parts.push_back(slice_axis(sum, -1, part.first, part.first + part.width));
    }
    return parts;
  };
  return replacement;
}

// Each sum may be cut and added to in turn: later values are asked in the
// function that has it.
Function sum_before_slices(const Function& function) {
  Function result = function;
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    const ColumnSums all(result);
    for (std::size_t i = 0; i < result.value_count() && !is_changed; ++i) {
      const auto value = static_cast<ValueId>(i);
      const std::vector<ColumnSum> sums = all.of(value);
      if (sums.empty()) continue;
      const std::array replacements = {summed(result, value, sums)};
      std::optional<Function> next = replace_nodes(result, replacements);
      WEFT_CHECK(next.has_value(), "slices waited for their sum");
      result = *std::move(next);
      is_changed = true;
    }
  }
  return result;
}

}  // namespace

void register_pass_sum_before_slices(PassRegistry& passes) {
  passes.add({
      .name = "sum_before_slices",
      .summary = "adds values whose columns are added one by one, and cuts "
                 "the sum",
      .order = 94,
      // A product that was cut may become a multiply-add with what it is added
      // to.
      .keeps_bits = false,
      .run = sum_before_slices,
      .samples =
          {{R"(func @f(%0: f32[3, 5], %1: f32[3, 4]) -> (f32[3, 1], f32[3, 3], f32[3, 1]) {
    %2 = slice(%0) {begin = [0, 0], end = [3, 1]} : f32[3, 1]
    %3 = slice(%0) {begin = [0, 1], end = [3, 4]} : f32[3, 3]
    %4 = slice(%0) {begin = [0, 4], end = [3, 5]} : f32[3, 1]
    %5 = slice(%1) {begin = [0, 0], end = [3, 1]} : f32[3, 1]
    %6 = add(%2, %5) : f32[3, 1]
    %7 = slice(%1) {begin = [0, 1], end = [3, 4]} : f32[3, 3]
    %8 = add(%3, %7) : f32[3, 3]
    return %6, %8, %4
  })",
            R"(func @f(%0: f32[3, 5], %1: f32[3, 4]) -> (f32[3, 1], f32[3, 3], f32[3, 1]) {
    %2 = slice(%0) {begin = [0, 4], end = [3, 5]} : f32[3, 1]
    %3 = slice(%0) {begin = [0, 0], end = [9223372036854775807, 4]} : f32[3, 4]
    %4 = add(%3, %1) : f32[3, 4]
    %5 = slice(%4) {begin = [0, 0], end = [9223372036854775807, 1]} : f32[3, 1]
    %6 = slice(%4) {begin = [0, 1], end = [9223372036854775807, 4]} : f32[3, 3]
    return %5, %6, %2
  })"},
           // A column is added to nothing.
           {R"(func @f(%0: f32[3, 4], %1: f32[3, 4]) -> (f32[3, 1]) {
    %2 = slice(%0) {begin = [0, 0], end = [3, 1]} : f32[3, 1]
    %3 = slice(%1) {begin = [0, 0], end = [3, 1]} : f32[3, 1]
    %4 = add(%2, %3) : f32[3, 1]
    return %4
  })"},
           // Other columns are added, crosswise.
           {R"(func @f(%0: f32[3, 4], %1: f32[3, 4]) -> (f32[3, 2], f32[3, 2]) {
    %2 = slice(%0) {begin = [0, 0], end = [3, 2]} : f32[3, 2]
    %3 = slice(%0) {begin = [0, 2], end = [3, 4]} : f32[3, 2]
    %4 = slice(%1) {begin = [0, 0], end = [3, 2]} : f32[3, 2]
    %5 = slice(%1) {begin = [0, 2], end = [3, 4]} : f32[3, 2]
    %6 = add(%2, %5) : f32[3, 2]
    %7 = add(%3, %4) : f32[3, 2]
    return %6, %7
  })"},
           // Rows are views of what they are cut from.
           {R"(func @f(%0: f32[2, 4], %1: f32[2, 4]) -> (f32[1, 4], f32[1, 4]) {
    %2 = slice(%0) {begin = [0, 0], end = [1, 4]} : f32[1, 4]
    %3 = slice(%0) {begin = [1, 0], end = [2, 4]} : f32[1, 4]
    %4 = slice(%1) {begin = [0, 0], end = [1, 4]} : f32[1, 4]
    %5 = slice(%1) {begin = [1, 0], end = [2, 4]} : f32[1, 4]
    %6 = add(%2, %4) : f32[1, 4]
    %7 = add(%3, %5) : f32[1, 4]
    return %6, %7
  })"}},
  });
}

}  // namespace weft
