// Attention and what stands around it in Transformers.
#include <cmath>
#include <limits>

#include "weft/onnx/elementwise.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/attention.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/control.h"
#include "weft/ops/index.h"
#include "weft/ops/join.h"
#include "weft/ops/loss.h"
#include "weft/ops/matmul.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft::onnx {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// [batch, steps, heads * width] as [batch, heads, steps, width].
Value heads_apart(const OnnxNode& node, const Value& x, std::int64_t heads) {
  if (x.shape().rank() == 4) return x;
  const Shape& s = x.shape();
  const auto width = heads > 0 ? dim_divide_exactly(s[2], heads) : std::nullopt;
  if (s.rank() != 3 || !width) {
    throw node.damaged("{} does not come apart into {} heads", to_string(s),
                       heads);
  }
  return transpose(reshape(x, {s[0], s[1], heads, *width}), {0, 2, 1, 3});
}

Value heads_together(const Value& x) {
  const Shape& s = x.shape();
  return reshape(transpose(x, {0, 2, 1, 3}),
                 {s[0], s[2], dim_multiply(s[1], s[3])});
}

// Each head of keys and values serves several of the queries, side by side.
Value heads_repeated(const OnnxNode& node, const Value& x, Dim wanted) {
  const Shape& s = x.shape();
  if (s[1] == wanted) return x;
  const auto times = dim_divide_exactly(wanted, s[1]);
  if (!times) {
    throw node.damaged("{} heads of keys for {} of queries", to_string(s[1]),
                       to_string(wanted));
  }
  return reshape(broadcast_to(reshape(x, {s[0], s[1], 1, s[2], s[3]}),
                              {s[0], s[1], *times, s[2], s[3]}),
                 {s[0], wanted, s[2], s[3]});
}

struct AttentionOperands {
  Value query;
  Value key;
  Value value;
  double scale = 1;
};

AttentionOperands attention_operands(OnnxNode& node) {
  const Value q = node.input(0);
  const bool are_flat = q.shape().rank() == 3;
  const std::int64_t heads = node.integer("q_num_heads", 0);
  const std::int64_t kv_heads = node.integer("kv_num_heads", 0);
  AttentionOperands all{heads_apart(node, q, heads),
                        heads_apart(node, node.input(1), kv_heads),
                        heads_apart(node, node.input(2), kv_heads)};
  if (node.has(4)) {
    const Value keys[] = {node.input(4), all.key};
    const Value values[] = {node.input(5), all.value};
    all.key = concat(keys, 2);
    all.value = concat(values, 2);
  }
  node.set(1, all.key);
  node.set(2, all.value);
  all.key = heads_repeated(node, all.key, all.query.shape()[1]);
  all.value = heads_repeated(node, all.value, all.query.shape()[1]);
  const Dim width = all.query.shape()[3];
  if (node.has_attribute("scale")) {
    all.scale = node.real("scale");
  } else if (is_symbolic(width)) {
    throw node.unsupported("the scale comes from a width that is not known");
  } else {
    all.scale = 1 / std::sqrt(static_cast<double>(width));
  }
  WEFT_CHECK(!are_flat || all.query.shape().rank() == 4);
  return all;
}

// Which keys a query may look at, beside the mask: those up to its own place,
// behind what came before, and those that are no padding.
std::optional<Value> allowed_keys(const OnnxNode& node, Dim queries, Dim keys) {
  const bool is_causal = node.integer("is_causal", 0) != 0;
  const std::int64_t left = node.integer("left_window_size", -1);
  const std::int64_t right = node.integer("right_window_size", -1);
  std::optional<Value> allowed;
  const auto also = [&](const Value& more) {
    allowed = allowed ? logical_and(*allowed, more) : more;
  };
  const Value key = reshape(iota(keys), {1, 1, 1, keys});
  Value place = reshape(iota(queries), {1, 1, queries, 1});
  Value lengths;
  if (node.has(6)) {
    const Value given = to_dtype(node.input(6), DType::kI64);
    lengths = reshape(given, {given.shape()[0], 1, 1, 1});
    also(less(key, lengths));
  }
  if (!is_causal && left < 0 && right < 0) return allowed;
  if (node.has(4)) {
    const Dim past = node.operand(4).type().shape[2];
    place = place + to_dtype(reshape(element_count({past}, DType::kI64), {}),
                             DType::kI64);
  } else if (lengths.is_defined()) {
    place =
        place + lengths - reshape(element_count({queries}, DType::kI64), {});
  }
  if (is_causal) also(less_equal(key, place));
  if (left >= 0)
    also(less_equal(place - key, scalar_like(key, static_cast<double>(left))));
  if (right >= 0)
    also(less_equal(key - place, scalar_like(key, static_cast<double>(right))));
  return allowed;
}

// What is added to the products; -infinity where a query may not look.
Value bias_of(const Value& allowed, DType dtype) {
  return where(allowed, full({dtype, {}}, 0),
               full({dtype, {}}, kMinusInfinity));
}

// A mask that is too short says nothing of the last keys, which are left out.
Value padded_mask(const OnnxNode& node, const Value& mask, Dim keys) {
  const Dim there = mask.shape().back();
  if (there == keys || there == 1) return mask;
  if (is_symbolic(there) || is_symbolic(keys)) {
    throw node.unsupported("a mask over {} of {} keys", to_string(there),
                           to_string(keys));
  }
  Integers low(static_cast<std::size_t>(mask.shape().rank()), 0);
  Integers high = low;
  high.back() = keys - there;
  if (mask.dtype() == DType::kBool) {
    return cast(pad(cast(mask, DType::kU8), low, high), DType::kBool);
  }
  return pad(mask, low, high, kMinusInfinity);
}

// Rows that may look at nothing are 0, and not NaN.
Value masked_softmax(const Value& scores, const Value& bias) {
  if (!bias.is_defined()) return softmax(scores);
  const Value most = reduce_max(bias, {-1}, true);
  const Value none = equal(most, scalar_like(most, kMinusInfinity));
  const Value zero = scalar_like(scores, 0);
  return where(none, zero, softmax(where(none, zero, scores)));
}

void attend_by_parts(OnnxNode& node, const AttentionOperands& all,
                     bool are_flat) {
  const DType dtype = all.query.dtype();
  const Dim queries = all.query.shape()[2];
  const Dim keys = all.key.shape()[2];
  const double half = std::sqrt(all.scale);
  Value scores =
      matmul(all.query * half, all.key * half, {.transpose_b = true});
  const std::int64_t wanted = node.integer("qk_matmul_output_mode", 0);
  if (wanted == 0) node.set(3, scores);
  const double cap = node.real("softcap", 0);
  if (cap > 0) scores = tanh(scores / cap) * cap;
  if (wanted == 1) node.set(3, scores);
  Value bias;
  if (node.has(3)) {
    const Value mask = padded_mask(node, node.input(3), keys);
    bias = mask.dtype() == DType::kBool ? bias_of(mask, dtype) : mask;
  }
  if (const auto allowed = allowed_keys(node, queries, keys)) {
    const Value more = bias_of(*allowed, dtype);
    bias = bias.is_defined() ? bias + more : more;
  }
  if (bias.is_defined()) scores = scores + bias;
  if (wanted == 2) node.set(3, scores);
  const DType precision = node.dtype("softmax_precision", dtype);
  Value weights = to_dtype(
      masked_softmax(to_dtype(scores, precision),
                     bias.is_defined() ? to_dtype(bias, precision) : bias),
      dtype);
  if (wanted == 3) node.set(3, weights);
  const Value y = matmul(weights, all.value);
  node.set(0, are_flat ? heads_together(y) : y);
}

void import_attention(OnnxNode& node) {
  const bool are_flat = node.operand(0).rank() == 3;
  const AttentionOperands all = attention_operands(node);
  const bool has_bias =
      node.has(3) && node.operand(3).type().dtype != DType::kBool;
  const bool has_windows = node.integer("left_window_size", -1) >= 0 ||
                           node.integer("right_window_size", -1) >= 0;
  const bool is_plain = !has_bias && !node.wants(3) && !node.has(4) &&
                        !node.has(6) && node.real("softcap", 0) == 0 &&
                        !has_windows &&
                        !node.has_attribute("softmax_precision");
  if (!is_plain) return attend_by_parts(node, all, are_flat);
  const AttentionOptions options{node.integer("is_causal", 0) != 0, all.scale};
  const Value y =
      node.has(3)
          ? attention(all.query, all.key, all.value,
                      padded_mask(node, node.input(3), all.key.shape()[2]),
                      options)
          : attention(all.query, all.key, all.value, options);
  node.set(0, are_flat ? heads_together(y) : y);
}

// --- Rotary embedding --------------------------------------------------------

// Su et al., 2021: pairs of numbers turned by angles of their places.
void import_rotary_embedding(OnnxNode& node) {
  const Value given = node.input(0);
  const bool is_flat = given.shape().rank() == 3;
  Value x = given;
  if (is_flat) {
    const std::int64_t heads = node.integer("num_heads");
    const auto width =
        heads > 0 ? dim_divide_exactly(x.shape()[2], heads) : std::nullopt;
    if (!width) throw node.damaged("{} heads", heads);
    x = reshape(x, {x.shape()[0], x.shape()[1], heads, *width});
  } else {
    x = transpose(x, {0, 2, 1, 3});
  }
  const Dim width = x.shape()[3];
  if (is_symbolic(width)) throw node.unsupported("heads of unknown width");
  const std::int64_t said = node.integer("rotary_embedding_dim", 0);
  const std::int64_t turned = said == 0 ? width : said;
  if (turned > width || turned % 2 != 0) {
    throw node.damaged("turns {} of {}", turned, width);
  }
  const auto angles = [&](std::size_t i) {
    Value cache = node.input(i);
    if (node.has(3)) cache = gather(cache, node.input(3));
    const Shape& s = cache.shape();
    return s.rank() == 2 ? reshape(cache, {1, s[0], 1, s[1]})
                         : reshape(cache, {s[0], s[1], 1, s[2]});
  };
  const Value cosine = angles(1);
  const Value sine = angles(2);
  const Value part = slice_axis(x, 3, 0, turned);
  const bool alternates = node.integer("interleaved", 0) != 0;
  const auto half = [&](std::int64_t which) {
    if (!alternates) {
      return slice_axis(part, 3, which * turned / 2, (which + 1) * turned / 2);
    }
    return slice(part, {0, 0, 0, which}, {kToEnd, kToEnd, kToEnd, kToEnd},
                 {1, 1, 1, 2});
  };
  const Value a = half(0);
  const Value b = half(1);
  std::vector<Value> pair = {cosine * a - sine * b, sine * a + cosine * b};
  Value y;
  if (alternates) {
    for (Value& each : pair) {
      const Shape& s = each.shape();
      each = reshape(each, {s[0], s[1], s[2], s[3], 1});
    }
    y = reshape(concat(pair, 4), part.shape());
  } else {
    y = concat(pair, 3);
  }
  if (turned != width) {
    const std::vector<Value> both = {y, slice_axis(x, 3, turned, width)};
    y = concat(both, 3);
  }
  node.set(is_flat ? reshape(y, given.shape()) : transpose(y, {0, 2, 1, 3}));
}

// --- Linear attention --------------------------------------------------------

// A state [keys, values] of each head is read by queries and written by keys;
// the rules are those of Yang et al., "Gated Delta Networks", 2024.
void import_linear_attention(OnnxNode& node) {
  const std::string rule = node.text("update_rule", "gated_delta");
  const bool is_gated = rule == "gated" || rule == "gated_delta";
  const bool corrects = rule == "delta" || rule == "gated_delta";
  if (!is_gated && !corrects && rule != "linear") {
    throw node.damaged("there is no rule '{}'", rule);
  }
  const std::int64_t q_heads = node.integer("q_num_heads");
  const std::int64_t heads = node.integer("kv_num_heads");
  // [steps, batch, heads, width]
  const auto by_steps = [&](std::size_t i, std::int64_t count) {
    return transpose(cast(heads_apart(node, node.input(i), count), DType::kF32),
                     {2, 0, 1, 3});
  };
  const Value q = by_steps(0, q_heads);
  const Value k = by_steps(1, heads);
  const Value v = by_steps(2, heads);
  const Dim batch = k.shape()[1];
  const Dim width = k.shape()[3];
  const Dim values = v.shape()[3];
  std::vector<Value> scanned = {q, k, v};
  if (is_gated) scanned.push_back(exp(by_steps(4, heads)));
  if (corrects) {
    // One for each head, or one for all of them.
    scanned.push_back(by_steps(5, node.operand(5).type().shape[2]));
  }
  const TensorType state{DType::kF32, {batch, heads, width, values}};
  const Value first =
      node.has(3) ? to_dtype(node.input(3), DType::kF32) : full(state, 0);
  double scale = node.real("scale", 0);
  if (scale == 0) {
    if (is_symbolic(width)) throw node.unsupported("heads of unknown width");
    scale = 1 / std::sqrt(static_cast<double>(width));
  }
  const auto step = [&](const std::vector<Value>& carried,
                        const std::vector<Value>& now) {
    Value s = carried[0];
    const Value key = reshape(now[1], {batch, heads, width, 1});
    Value value = reshape(now[2], {batch, heads, 1, values});
    if (is_gated) {
      const Shape& g = now[3].shape();
      s = s * reshape(now[3], {g[0], g[1], g[2], 1});
    }
    if (corrects) {
      const Value& beta = now.back();
      const Value known = sum(s * key, {2}, true);
      value = reshape(beta, {batch, beta.shape()[1], 1, 1}) * (value - known);
    }
    s = s + key * value;
    const Value seen = heads_repeated(node, s, q_heads);
    const Value query = reshape(now[0], {batch, q_heads, width, 1});
    return std::vector{s, sum(seen * query, {2}) * scale};
  };
  const auto results = scan({first}, scanned, step);
  const DType dtype = node.operand(0).type().dtype;
  const Shape& s = results[1].shape();
  node.set(0, to_dtype(reshape(transpose(results[1], {1, 0, 2, 3}),
                               {s[1], s[0], dim_multiply(s[2], s[3])}),
                       dtype));
  node.set(1, to_dtype(results[0],
                       node.has(3) ? node.operand(3).type().dtype : dtype));
}

void import_swiglu(OnnxNode& node) {
  const double alpha = node.real("alpha", 1);
  node.set(elementwise(node, 2, [&](std::span<const Value> x) {
    return x[0] * sigmoid(x[0] * alpha) * x[1];
  }));
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_attentions(OnnxRegistry& ops) {
  using namespace onnx;
  ops.add({.name = "Attention", .import = import_attention});
  ops.add({.name = "RotaryEmbedding", .import = import_rotary_embedding});
  ops.add({.name = "LinearAttention", .import = import_linear_attention});
  ops.add({.name = "SwiGLU", .import = import_swiglu});
}

}  // namespace weft
