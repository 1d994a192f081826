// attention is a primitive, so that a kernel can go over its keys in blocks
// (Dao et al., "FlashAttention", 2022). Beside the result comes the logarithm
// of the sum of exp(score) for each query, from which the gradient computes the
// weights again instead of keeping them.
//
// The mask is of bool, not added to the scores: it takes a byte for a pair, the
// keys that it hides weigh exactly 0, and it has no gradient, which would be a
// matrix for each head again.
#include "weft/ops/attention.h"

#include "weft/graph/gradient.h"
#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/matmul.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/support/attention.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

// Sums of bf16 and f16 are f32.
DType attention_sum_dtype(DType dtype) {
  return dtype == DType::kF64 ? DType::kF64 : DType::kF32;
}

void check_attention_mask(const OpCall& call, std::size_t index,
                          const Shape& pairs) {
  if (!call.has_input(index)) return;
  const TensorType& mask = call.input(index);
  if (mask.dtype != DType::kBool) {
    throw call.error("the mask is {}, not bool", to_string(mask.dtype))
        .hint("true where the query looks at the key");
  }
  // A mask is aligned at its last axes, as all that broadcasts is.
  const int extra = pairs.rank() - mask.shape.rank();
  for (int axis = 0; axis < mask.shape.rank(); ++axis) {
    const Dim dim = mask.shape[axis];
    if (extra >= 0 && (dim == 1 || dim == pairs[axis + extra])) continue;
    throw call.error("the mask does not broadcast to {}", to_string(pairs))
        .hint("its axes are those of the leading axes, the queries, the keys");
  }
}

// Checks query, key, value and mask; returns the types of the results.
std::vector<TensorType> checked_attention(const OpCall& call,
                                          std::size_t mask) {
  const TensorType& query = call.input(0);
  const TensorType& key = call.input(1);
  const TensorType& value = call.input(2);
  if (!is_floating(query.dtype) || query.dtype != key.dtype ||
      query.dtype != value.dtype) {
    throw call.error("query, key and value must be floats of one dtype");
  }
  const int rank = query.shape.rank();
  if (rank < 2 || key.shape.rank() != rank || value.shape.rank() != rank) {
    throw call.error("operands must be matrices under the same leading axes")
        .hint("[batch, heads, length, width], for instance");
  }
  const Shape leading(query.shape.first(rank - 2));
  if (leading != Shape(key.shape.first(rank - 2)) ||
      leading != Shape(value.shape.first(rank - 2))) {
    throw call.error("the leading axes of query, key and value differ")
        .hint("broadcast_to() repeats keys that queries share");
  }
  if (query.shape.back() != key.shape.back()) {
    throw call.error("queries have the width {}, keys {}",
                     to_string(query.shape.back()),
                     to_string(key.shape.back()));
  }
  const Dim keys = key.shape[rank - 2];
  if (value.shape[rank - 2] != keys) {
    throw call.error("there are {} keys, but {} values", to_string(keys),
                     to_string(value.shape[rank - 2]));
  }
  // 0 stands for 1 / √width (Vaswani et al., "Attention is all you need", 2017,
  // section 3.2.1).
  if (call.attributes.real("scale") == 0 && is_symbolic(query.shape.back())) {
    throw call.error("the width must be known, as it makes the scale");
  }
  Shape pairs(query.shape.first(rank - 1));
  const TensorType lse{attention_sum_dtype(query.dtype), pairs};
  TensorType y{query.dtype, pairs};
  y.shape.push_back(value.shape.back());
  pairs.push_back(keys);
  check_attention_mask(call, mask, pairs);
  return {y, lse};
}

std::vector<TensorType> infer_attention(const OpCall& call) {
  return checked_attention(call, kMaskOfAttention);
}

std::vector<TensorType> infer_attention_gradient(const OpCall& call) {
  const auto results = checked_attention(call, kMaskOfGradient);
  // The gradient is given y and lse as attention made them, and dy as y is.
  const std::array expected = {results[0], results[1], results[0]};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (call.input(3 + i) == expected[i]) continue;
    throw call.error("{} must be {}", call.op.input_name(3 + i),
                     to_string(expected[i]));
  }
  return {call.input(0), call.input(1), call.input(2)};
}

// The scores as reference_scores() has them, of all stacks, in the dtype of
// sums.
Value plain_scores(const Attributes& attributes, const Value& query,
                   const Value& key, const Value* mask) {
  const DType dtype = attention_sum_dtype(query.dtype());
  const double scale = attention_scale(attributes, query.shape().back());
  // The scale is multiplied into the queries: they are fewer than the scores.
  Value scores = matmul(to_dtype(query, dtype) * scale, to_dtype(key, dtype),
                        {false, true});
  const Value hidden = scalar(kHiddenScore, dtype);
  // Scores are hidden by -∞, not by a large negative number: the weight is
  // exactly 0 then.
  if (mask != nullptr) scores = where(*mask, scores, hidden);
  if (attributes.flag("causal")) {
    const int rank = scores.shape().rank();
    const Dim queries = scores.shape()[rank - 2];
    // Query i looks at keys 0 … i, counted from the first key of each.
    const Value order = reshape(iota(queries), {queries, 1});
    const Value looks = less_equal(iota(scores.shape().back()), order);
    scores = where(looks, scores, hidden);
  }
  return scores;
}

// x [..., n] as [..., n, 1].
Value attention_column(const Value& x) {
  Shape shape = x.shape();
  shape.push_back(1);
  return reshape(x, shape);
}

std::vector<Value> lower_attention(const Attributes& attributes,
                                   std::span<const Value> inputs) {
  const bool is_masked = inputs.size() > kMaskOfAttention;
  const Value scores =
      plain_scores(attributes, inputs[0], inputs[1],
                   is_masked ? &inputs[kMaskOfAttention] : nullptr);
  const DType dtype = scores.dtype();
  const Value zero = scalar(0, dtype);
  // Shifting by the largest score keeps exp() from overflowing and changes no
  // weight. Where every key is hidden, the largest is -∞, and -∞ - -∞ would be
  // NaN.
  const Value most = reduce_max(scores, {-1}, true);
  const Value shift =
      where(equal(most, scalar(kHiddenScore, dtype)), zero, most);
  const Value weights = exp(scores - shift);
  const Value total = sum(weights, {-1}, true);
  const Value looks_at_none = equal(total, zero);
  // A query that looks at no key gets zeros instead of 0 / 0, and an lse of 0:
  // the gradient's exp(-∞ - 0) is then 0, too.
  const Value divisor = where(looks_at_none, scalar(1, dtype), total);
  const Value y = matmul(weights / divisor, to_dtype(inputs[2], dtype));
  const Value lse = where(looks_at_none, zero, shift + log(divisor));
  Shape rows(lse.shape().first(lse.shape().rank() - 1));
  return {to_dtype(y, inputs[0].dtype()), reshape(lse, rows)};
}

std::vector<Value> lower_attention_gradient(const Attributes& attributes,
                                            std::span<const Value> inputs) {
  const bool is_masked = inputs.size() > kMaskOfGradient;
  const Value scores =
      plain_scores(attributes, inputs[0], inputs[1],
                   is_masked ? &inputs[kMaskOfGradient] : nullptr);
  const DType dtype = scores.dtype();
  const double scale = attention_scale(attributes, inputs[0].shape().back());
  const Value dy = to_dtype(inputs[5], dtype);
  // These are the softmax's weights: exp(score) over the sum of exp, whose
  // logarithm lse is.
  const Value weights = exp(scores - attention_column(inputs[4]));
  const Value dp = matmul(dy, to_dtype(inputs[2], dtype), {false, true});
  // The gradient of a softmax subtracts Σ weight dp over the keys. That equals
  // Σ dy y, which needs no matrix of pairs (Dao et al., appendix B.2).
  const Value common = sum(dy * to_dtype(inputs[3], dtype), {-1}, true);
  // `ds` is the gradient of the products query keyᵀ, before the scale.
  const Value ds = weights * (dp - common) * scale;
  const DType result = inputs[0].dtype();
  return {
      to_dtype(matmul(ds, to_dtype(inputs[1], dtype)), result),
      to_dtype(matmul(ds, to_dtype(inputs[0], dtype), {true, false}), result),
      to_dtype(matmul(weights, dy, {true, false}), result)};
}

// lse has a gradient only while a gradient is differentiated.
Gradients attention_rule(const GradientContext& g) {
  if (g.dy(1).is_defined()) return lowered_gradient(g);
  static const OpDef& op = op_registry().get("attention_gradient");
  std::vector<Value> inputs = {g.x(0), g.x(1), g.x(2), g.y(0), g.y(1), g.dy(0)};
  const bool is_masked = g.input_count() > kMaskOfAttention;
  if (is_masked) inputs.push_back(g.x(kMaskOfAttention));
  Gradients gradients = call_all(op, inputs, g.attributes(), {});
  if (is_masked) gradients.emplace_back();
  return gradients;
}

// Instances are one more leading axis; a mask that they share broadcasts.
template <std::size_t kMask>
std::vector<Value> batch_attention(const BatchContext& g) {
  std::vector<Value> inputs;
  const int rank = g.call().input(0).shape.rank();
  for (std::size_t i = 0; i < g.input_count(); ++i) {
    inputs.push_back(i == kMask ? aligned(g, i, rank) : stacked(g, i));
  }
  return call_again(g, inputs);
}

// It takes two flops for each number of a key and of a value, and about ten for
// exp.
template <std::size_t kMask, int kProducts>
Cost attention_cost(const OpCall& call) {
  const AttentionSizes size(call, kMask);
  const double pairs = static_cast<double>(size.stacks) *
                       static_cast<double>(size.queries) *
                       static_cast<double>(size.keys) * (size.causal ? 0.5 : 1);
  return Cost::of(
      call,
      pairs * (kProducts * static_cast<double>(size.width + size.value_width) +
               10));
}

struct AttentionCase {
  Shape leading;
  Dim queries, keys, width, value_width;
  Attributes attributes = {};
  Shape mask = {};  // of no axes: there is none
  DType dtype = DType::kF32;

  InputSample matrix(Dim rows, Dim columns) const {
    Shape shape = leading;
    shape.push_back(rows);
    shape.push_back(columns);
    return floats(shape, -1, 1, dtype);
  }
  InputSample sums() const {
    Shape shape = leading;
    shape.push_back(queries);
    return floats(shape, 1, 2, attention_sum_dtype(dtype));
  }
};

// Keys are as many as the queries or not, masks broadcast along each axis, and
// batches and queries may be none.
std::vector<AttentionCase> attention_cases() {
  const Attributes causal = {{"causal", true}};
  return {{{2, 3}, 5, 7, 4, 6},
          {{}, 1, 1, 1, 1},
          {{3}, 6, 6, 5, 5, causal},
          {{2}, 4, 6, 3, 2, causal},
          {{2, 2}, 3, 4, 2, 3, {{"scale", 0.75}}, {2, 1, 1, 4}},
          {{2}, 5, 3, 4, 4, {}, {5, 3}},
          {{2}, 4, 4, 3, 3, causal, {2, 4, 4}},
          {{2, 0}, 3, 4, 2, 3},
          {{2}, 0, 4, 2, 3},
          {{2}, 9, 9, 8, 8, causal, {}, DType::kBF16}};
}

std::vector<OpSample> attention_samples() {
  std::vector<OpSample> all;
  for (const AttentionCase& c : attention_cases()) {
    all.push_back({{c.matrix(c.queries, c.width), c.matrix(c.keys, c.width),
                    c.matrix(c.keys, c.value_width)},
                   c.attributes});
    if (c.mask.rank() > 0) all.back().inputs.push_back(bools(c.mask));
  }
  return all;
}

std::vector<OpSample> attention_gradient_samples() {
  std::vector<OpSample> all;
  for (const AttentionCase& c : attention_cases()) {
    all.push_back(
        {{c.matrix(c.queries, c.width), c.matrix(c.keys, c.width),
          c.matrix(c.keys, c.value_width), c.matrix(c.queries, c.value_width),
          c.sums(), c.matrix(c.queries, c.value_width)},
         c.attributes});
    if (c.mask.rank() > 0) all.back().inputs.push_back(bools(c.mask));
  }
  return all;
}

Value call_attention(std::span<const Value> inputs,
                     const AttentionOptions& options,
                     const std::source_location& where) {
  static const OpDef& op = op_registry().get("attention");
  const Attributes attributes = {{"causal", options.causal},
                                 {"scale", options.scale}};
  return std::move(call_all(op, inputs, attributes, where).front());
}

}  // namespace

void register_attention(OpRegistry& ops) {
  ops.add("attention")
      .summary("softmax(scale query keyᵀ) value, and log of the sums of exp")
      .signature("(query, key, value, mask?) -> y, lse")
      .attribute("causal", false)
      .attribute("scale", 0.0)
      .infer(infer_attention)
      .reference(attention_reference)
      .lower(lower_attention)
      .gradient(attention_rule)
      .batch(batch_attention<kMaskOfAttention>)
      .cost(attention_cost<kMaskOfAttention, 2>)
      .samples(attention_samples);
  ops.add("attention_gradient")
      .summary("the gradients of attention's query, key and value")
      .signature("(query, key, value, y, lse, dy, mask?) -> dq, dk, dv")
      .attribute("causal", false)
      .attribute("scale", 0.0)
      .infer(infer_attention_gradient)
      .reference(attention_gradient_reference)
      .lower(lower_attention_gradient)
      .gradient(lowered_gradient)
      .batch(batch_attention<kMaskOfGradient>)
      .cost(attention_cost<kMaskOfGradient, 5>)
      .samples(attention_gradient_samples);
}

Value attention(const Operand& query, const Operand& key, const Operand& value,
                const AttentionOptions& options) {
  return call_attention(std::array{*query.value, *key.value, *value.value},
                        options, query.location);
}

Value attention(const Operand& query, const Operand& key, const Operand& value,
                const Value& mask, const AttentionOptions& options) {
  return call_attention(
      std::array{*query.value, *key.value, *value.value, mask}, options,
      query.location);
}

}  // namespace weft
