#include "weft/batching/clipped_sums.h"

#include <map>
#include <set>

#include "weft/batching/control.h"
#include "weft/batching/instances.h"
#include "weft/graph/inlining.h"
#include "weft/graph/known_ops.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/conv.h"
#include "weft/ops/matmul.h"
#include "weft/ops/reduce.h"
#include "weft/ops/rows.h"
#include "weft/ops/shape.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/convolution.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

// Which operand an op is linear in while its others stay; nothing for one that
// is not, or for which there is no saving.
std::optional<std::size_t> linear_operand(const OpDef& op) {
  static const std::map<const OpDef*, std::size_t> operands{
      {&known::matmul.get(), 1},    {&known::conv2d_weight_gradient.get(), 1},
      {&known::sum.get(), 0},       {&known::reshape.get(), 0},
      {&known::transpose.get(), 0}, {&known::cast.get(), 0},
      {&known::negate.get(), 0},    {&known::scatter_add.get(), 0},
      {&known::unslice.get(), 0},   {&known::split.get(), 0},
      {&known::slice.get(), 0}};
  const auto found = operands.find(&op);
  return found == operands.end() ? std::nullopt : std::optional(found->second);
}

// A product without what may stand behind one.
bool is_plain_product(const Node& node) {
  return *node.op == known::matmul && node.inputs.size() == 2 &&
         node.attributes.text("activation") == "none";
}

// The function of one instance with its gradients once more, times `clip`, a
// further parameter: as far up as ops are linear it is what flows into them
// that is multiplied, so that the sum over the instances stays one op.
class ScaledGradients {
 public:
  ScaledGradients(const Function& function, std::size_t gradients)
      : function_(function), gradients_(gradients) {}

  Function extended() {
    FunctionBuilder builder(function_.name() + "_clipped",
                            /*lower_composites=*/false);
    const std::vector<Value> arguments = add_parameters(builder, function_);
    clip_ = builder.parameter({DType::kF32, {}}, "clip");
    return builder.build([&] {
      values_ = builder.inline_function(function_, arguments);
      std::vector<Value> results;
      for (const ValueId id : function_.results()) {
        results.push_back(values_[static_cast<std::size_t>(id)]);
      }
      const std::span ids = function_.results();
      for (const ValueId id : ids.last(gradients_)) {
        results.push_back(scaled(id));
      }
      return results;
    });
  }

 private:
  Value scaled(ValueId id) {
    const auto found = scaled_.find(id);
    if (found != scaled_.end()) return found->second;
    const Value result = scaled_anew(id);
    scaled_.emplace(id, result);
    return result;
  }

  Value scaled_anew(ValueId id) {
    const Value& value = values_[static_cast<std::size_t>(id)];
    if (!function_.is_parameter(id)) {
      const Node& node = function_.node(function_.value(id).node);
      if (*node.op == known::add &&
          function_.type(node.inputs[0]) == function_.type(node.inputs[1])) {
        return scaled(node.inputs[0]) + scaled(node.inputs[1]);
      }
      const auto operand = linear_operand(*node.op);
      const bool has_tail =
          *node.op == known::matmul && !is_plain_product(node);
      if (operand && !has_tail && node.outputs.size() == 1) {
        return again(node, *operand);
      }
    }
    return value * cast(clip_, value.dtype());
  }

  // The node on other operands: the one that it is linear in is scaled.
  Value again(const Node& node, std::size_t linear) {
    std::vector<Value> operands;
    for (const ValueId id : node.inputs) {
      operands.push_back(values_[static_cast<std::size_t>(id)]);
    }
    // What flows back is scaled itself, as it stands between the layers and has
    // no product of its own for each parameter.
    Value& operand = operands[linear];
    operand = passes_on(*node.op) ? scaled(node.inputs[linear])
                                  : operand * cast(clip_, operand.dtype());
    return call_all(*node.op, operands, node.attributes, node.location)[0];
  }
  // Ops that only move elements: what they move may come from a product.
  static bool passes_on(const OpDef& op) {
    return op != known::matmul && op != known::conv2d_weight_gradient &&
           op != known::sum && op != known::scatter_add;
  }

  const Function& function_;
  std::size_t gradients_;
  Value clip_;
  std::vector<Value> values_;  // by id in function_
  std::map<ValueId, Value> scaled_;
};

// Sums of squares of each instance's values, f32[B]: over all axes but the
// leading one, or of what all instances share.
Value squares_of(const Value& value, bool is_batched, Dim size) {
  const Value wide =
      value.dtype() == DType::kF32 ? value : cast(value, DType::kF32);
  Value squares = wide * wide;
  if (!is_batched) return broadcast_to(sum(squares), {size});
  if (value.shape().rank() == 1) return squares;
  Integers axes;
  for (int axis = 1; axis < value.shape().rank(); ++axis) axes.push_back(axis);
  return sum(squares, axes);
}

// Sums of squares of values of the instances, f32[B], from the factors of
// products where that is cheaper.
class SquaredNorms {
 public:
  SquaredNorms(const InstanceForm& form, Instances& instances, Dim size)
      : form_(form),
        function_(form.function),
        instances_(instances),
        size_(size) {}

  // Whether a gradient of each instance was made for it, from which the sum is
  // then taken.
  bool took_gradients(ValueId id) const { return stacked_.contains(id); }

  Value of(ValueId id) {
    if (!function_.is_parameter(id) && form_.depends(id)) {
      const Node& node = function_.node(function_.value(id).node);
      const OpDef& op = *node.op;
      // These keep all elements, and so the norm.
      if (op == known::reshape || op == known::transpose ||
          op == known::negate) {
        const Value norms = of(node.inputs[0]);
        if (took_gradients(node.inputs[0])) stacked_.insert(id);
        return norms;
      }
      if (is_plain_product(node)) {
        if (auto norms = of_product(node)) return *std::move(norms);
      }
      if (op == known::conv2d_weight_gradient) {
        if (auto norms = of_convolution(node)) return *std::move(norms);
      }
      if (op == known::scatter_add && is_along_rows(node)) return of_rows(node);
    }
    if (form_.depends(id)) stacked_.insert(id);
    return of_stacked(instances_.stacked(id), form_.depends(id));
  }

 private:
  static bool is_along_rows(const Node& node) {
    return node.attributes.integer("axis") == 0;
  }

  Value of_stacked(const Value& value, bool is_batched) const {
    return squares_of(value, is_batched, size_);
  }

  // For A B with an inner dim of t the norm is that of the product itself, or
  // follows from both factors' products with themselves.
  std::optional<Value> of_product(const Node& node) {
    const Shape& a = function_.type(node.inputs[0]).shape;
    const Shape& b = function_.type(node.inputs[1]).shape;
    if (a.rank() != 2 || b.rank() != 2 || !form_.depends(node.inputs[0]) ||
        !form_.depends(node.inputs[1])) {
      return std::nullopt;
    }
    const bool ta = node.attributes.flag("transpose_a");
    const bool tb = node.attributes.flag("transpose_b");
    const Dim inner = a[ta ? 0 : 1];
    const Dim rows = a[ta ? 1 : 0];
    const Dim columns = b[tb ? 0 : 1];
    if (!pays(inner, rows, columns)) return std::nullopt;
    const Value& left = instances_.stacked(node.inputs[0]);
    const Value& right = instances_.stacked(node.inputs[1]);
    if (inner == 1) return of_stacked(left, true) * of_stacked(right, true);
    // With factors L [rows, t] and R [t, columns], LᵀL and RRᵀ are [t, t].
    return of_factors(left, {!ta, ta}, right, {tb, !tb});
  }
  // The sum over the product of both factors' products with themselves. Where
  // its terms cancel, what is left may be rounding, and below zero. A norm
  // that is too small would clip too little: what rounding may have taken is
  // added, and products are those of f32.
  Value of_factors(const Value& left, const MatmulOptions& of_left,
                   const Value& right, const MatmulOptions& of_right) const {
    constexpr double kLost = 0x1p-20;
    const Value a = cast_up(left);
    const Value b = cast_up(right);
    const Value found =
        sum(matmul(a, a, of_left) * matmul(b, b, of_right), {1, 2});
    const Value most = of_stacked(a, true) * of_stacked(b, true);
    return maximum(found, zeros_like(found)) + scalar_like(most, kLost) * most;
  }
  static Value cast_up(const Value& value) {
    return value.dtype() == DType::kF32 ? value : cast(value, DType::kF32);
  }

  // Whether t² (m + n) products are fewer than t m n. Of a symbolic size
  // nothing is known.
  static bool pays(Dim inner, Dim rows, Dim columns) {
    if (inner == 1) return true;
    if (is_symbolic(inner) || is_symbolic(rows) || is_symbolic(columns)) {
      return false;
    }
    return inner * (rows + columns) < rows * columns;
  }

  // A convolution's gradient is the product of its patches with what flows
  // back.
  std::optional<Value> of_convolution(const Node& node) {
    const Conv2dOptions options = to_options(node.attributes);
    const Shape& w = node.attributes.get<Shape>("shape");
    const Shape& y = function_.type(node.inputs[1]).shape;
    const Dim pixels = dim_multiply(dim_multiply(y[0], y[1]), y[2]);
    const Dim taps = w[0] * w[1] * w[2];
    if (options.groups != 1 || !form_.depends(node.inputs[0]) ||
        !form_.depends(node.inputs[1]) || !pays(pixels, taps, w[3])) {
      return std::nullopt;
    }
    const auto images = [&](std::size_t input) {
      Shape shape = function_.type(node.inputs[input]).shape;
      shape[0] = dim_multiply(size_, shape[0]);
      return reshape(instances_.stacked(node.inputs[input]), shape);
    };
    const Value patches = reshape(image_patches(images(0), w[0], w[1], options),
                                  {size_, pixels, taps});
    const Value back = reshape(images(1), {size_, pixels, w[3]});
    if (pixels == 1) return of_stacked(patches, true) * of_stacked(back, true);
    return of_factors(patches, {false, true}, back, {false, true});
  }

  // Rows were added to a table: those of one index are added up first.
  Value of_rows(const Node& node) {
    const TensorType& table = function_.type(node.outputs[0]);
    const Shape& picked = function_.type(node.inputs[1]).shape;
    const bool are_batched =
        form_.depends(node.inputs[0]) && form_.depends(node.inputs[1]);
    if (!are_batched || picked.rank() == 0) {
      return of_stacked(instances_.stacked(node.outputs[0]), true);
    }
    const Value& rows = instances_.stacked(node.inputs[0]);
    const Value& indices = instances_.stacked(node.inputs[1]);
    // Rows of another instance are other rows.
    const Dim size = dim_multiply(size_, table.shape[0]);
    Shape column = indices.shape();
    for (int axis = 1; axis < column.rank(); ++axis) column[axis] = 1;
    const Value first = reshape(iota(size_, indices.dtype()), column) *
                        element_count({table.shape[0]}, indices.dtype());
    return of_stacked(coalesce_rows(rows, indices + first, size), true);
  }

  const InstanceForm& form_;
  const Function& function_;
  Instances& instances_;
  Dim size_;
  std::set<ValueId> stacked_;
};

// What each instance's gradients are multiplied by.
Value scales_of(const Value& norms, double norm, const Value& weights) {
  const Value bound = scalar_like(norms, norm);
  return weights * (bound / maximum(norms, bound));
}

// Σᵢ scaleᵢ valueᵢ of [B, dims…].
Value weighted_sum(const Value& values, const Value& scales) {
  Shape column = scales.shape();
  while (column.rank() < values.shape().rank()) column.push_back(1);
  const Value scale = cast(scales, values.dtype());
  return sum(values * reshape(scale, column), {0});
}

Dim instances_in(std::span<const Value> arguments,
                 const std::vector<bool>& is_batched) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (is_batched[i]) return arguments[i].shape()[0];
  }
  throw Error(ErrorCode::kInvalidArgument, "clipped_sums",
              "no argument is batched");
}

}  // namespace

ClippedSums clipped_sums(FunctionBuilder& builder, const Function& function,
                         std::span<const Value> arguments,
                         const std::vector<bool>& is_batched,
                         std::size_t gradients, double norm,
                         const Value& weights) {
  WEFT_CHECK(arguments.size() == function.parameters().size() &&
             arguments.size() == is_batched.size());
  const Dim size = instances_in(arguments, is_batched);
  std::vector<bool> differ = is_batched;
  differ.push_back(true);  // each has a scale of its own
  const InstanceForm form =
      instance_form(ScaledGradients(function, gradients).extended(), differ);
  const Function& instance = form.function;
  Instances instances(form, builder, size);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    instances.set_parameter(instance.parameters()[i], arguments[i]);
  }
  const std::span results = instance.results();
  const std::size_t others = results.size() - 2 * gradients;

  ClippedSums made;
  for (const ValueId id : results.first(others)) {
    const Value& value = instances.stacked(id);
    Shape shape = value.shape();
    if (!form.depends(id)) shape = with_leading(size, shape);
    made.others.push_back(form.depends(id) ? value
                                           : broadcast_to(value, shape));
  }
  SquaredNorms squared(form, instances, size);
  Value total;
  for (const ValueId id : results.subspan(others, gradients)) {
    const Value part = squared.of(id);
    total = total.is_defined() ? total + part : part;
  }
  made.norms = sqrt(total);
  const Value scales = scales_of(made.norms, norm, weights);
  instances.set_parameter(instance.parameters().back(), scales);
  for (std::size_t i = 0; i < gradients; ++i) {
    const ValueId id = results[others + i];
    made.sums.push_back(
        squared.took_gradients(id)
            ? weighted_sum(instances.stacked(id), scales)
            : instances.summed(results[others + gradients + i]));
  }
  return made;
}

ClippedSums clipped_control_sums(Program& program, const FunctionRef& function,
                                 std::span<const Value> arguments,
                                 const std::vector<bool>& is_batched,
                                 std::size_t gradients, double norm,
                                 const Value& weights) {
  const Dim size = instances_in(arguments, is_batched);
  const Graph graph = program.build();
  const Function& one = *graph.find(function.name);
  const Differing differing(graph, one, is_batched);
  BatchedControl control(program, differing, size);
  // Whatever the instances share is repeated for each: a result is then always
  // stacked.
  const Flags stacked(one.results().size(), true);
  const std::vector<Value> results =
      control.results(one, {is_batched, stacked, arguments.size()}, arguments,
                      greater(weights, zeros_like(weights)));

  ClippedSums made;
  const std::size_t others = results.size() - gradients;
  made.others.assign(results.begin(),
                     results.begin() + static_cast<std::ptrdiff_t>(others));
  Value total;
  for (std::size_t i = others; i < results.size(); ++i) {
    const Value part = squares_of(results[i], true, size);
    total = total.is_defined() ? total + part : part;
  }
  made.norms = sqrt(total);
  const Value scales = scales_of(made.norms, norm, weights);
  for (std::size_t i = others; i < results.size(); ++i) {
    made.sums.push_back(weighted_sum(results[i], scales));
  }
  return made;
}

}  // namespace weft
