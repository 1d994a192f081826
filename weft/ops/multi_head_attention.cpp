// multi_head_attention is attention whose heads lie side by side in the columns
// of its operands, as products make and take them. Programs write attention
// with transpositions around it; a plan puts this op in the place of all of
// them (compiler/passes/form_attention.cpp), so that nothing is copied.
//
// It is a composite: what no kernel takes is computed by attention, and so are
// its gradients.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "weft/base/index.h"
#include "weft/graph/gradient.h"
#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/attention.h"
#include "weft/ops/compare.h"
#include "weft/ops/index.h"
#include "weft/ops/join.h"
#include "weft/ops/loss.h"
#include "weft/ops/matmul.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/support/doubles.h"
#include "weft/ops/support/heads.h"
#include "weft/ops/support/samples.h"

namespace weft {
namespace {

std::vector<TensorType> infer_heads(const OpCall& call) {
  return {HeadSizes(call).result()};
}

// The weight of each key for a query: what scores, masked, make of exp.
std::vector<double> weights_of(const HeadSizes& heads, const OpCall& call,
                               std::span<const TensorView> inputs,
                               std::int64_t stack, Dim query,
                               std::span<const double> q,
                               std::span<const double> k) {
  const AttentionSizes size = heads.attention(call);
  const HeadRows query_rows = heads.operand(call, 0);
  const HeadRows key_rows = heads.operand(call, 1);
  std::vector<double> weights(at(size.keys));
  const auto row =
      query_rows.begin(at(stack)) + at(query) * query_rows.row_step;
  double most = kHiddenScore;
  for (Dim j = 0; j < size.keys; ++j) {
    double& score = weights[at(j)];
    const auto key = key_rows.begin(at(stack)) + at(j) * key_rows.row_step;
    for (std::size_t w = 0; w < at(size.width); ++w) {
      score += size.scale * q[row + w] * k[key + w];
    }
    if (size.causal && j > query) score = kHiddenScore;
    if (inputs.size() > HeadSizes::kMask) {
      const TensorView& mask = inputs[HeadSizes::kMask];
      const auto place = size.mask_begin(stack) + size.mask_at(query, j);
      if (mask.dtype() != DType::kBool) {
        score += to_doubles(mask)[at(place)];
      } else if (!mask.as<bool>()[place]) {
        score = kHiddenScore;
      }
    }
    most = std::max(most, score);
  }
  for (double& each : weights) {
    each = std::exp(each - (most == kHiddenScore ? 0 : most));
  }
  return weights;
}

void heads_reference(const OpCall& call, std::span<const TensorView> inputs,
                     std::span<const TensorView> outputs) {
  const HeadSizes heads(call);
  const AttentionSizes size = heads.attention(call);
  const HeadRows value_rows = heads.operand(call, 2);
  const HeadRows result_rows = heads.rows_of_result(call);
  const auto q = to_doubles(inputs[0]);
  const auto k = to_doubles(inputs[1]);
  const auto v = to_doubles(inputs[2]);
  const bool hides = inputs.size() <= HeadSizes::kMask ||
                     inputs[HeadSizes::kMask].dtype() == DType::kBool;
  std::vector<double> y(at(outputs[0].size()));
  for (std::int64_t stack = 0; stack < size.stacks; ++stack) {
    for (Dim i = 0; i < size.queries; ++i) {
      const auto weights = weights_of(heads, call, inputs, stack, i, q, k);
      double total = std::accumulate(weights.begin(), weights.end(), 0.);
      // As attention, a query that is hidden all keys from has 0.
      if (total == 0 && hides) total = 1;
      double* to =
          &y[result_rows.begin(at(stack)) + at(i) * result_rows.row_step];
      for (std::size_t w = 0; w < at(size.value_width); ++w) {
        for (std::size_t j = 0; j < weights.size(); ++j) {
          to[w] += weights[j] *
                   v[value_rows.begin(at(stack)) + j * value_rows.row_step + w];
        }
        to[w] /= total;
      }
    }
  }
  from_doubles(y, outputs[0]);
}

// An operand as [batch, heads, length, width].
Value heads_apart(const Attributes& attributes, const Value& x,
                  std::size_t index) {
  if (x.shape().rank() == 4) return x;
  const std::int64_t heads = attributes.integer("heads");
  const std::int64_t first = attributes.integers("first")[index];
  std::int64_t width = attributes.integer(index == 2 ? "value_width" : "width");
  if (width == 0) width = x.shape()[2] / heads;
  std::int64_t step = attributes.integers("step")[index];
  if (step == 0) step = width;
  std::vector<Value> parts;
  if (step == width) {
    parts = {slice_axis(x, 2, first, first + heads * width)};
  } else {
    for (std::int64_t head = 0; head < heads; ++head) {
      const std::int64_t begin = first + head * step;
      parts.push_back(slice_axis(x, 2, begin, begin + width));
    }
  }
  const Value columns = parts.size() == 1 ? parts[0] : concat(parts, 2);
  const Shape& shape = x.shape();
  const Value split = reshape(columns, {shape[0], shape[1], heads, width});
  return attributes.flag("length_first") ? transpose(split, {1, 2, 0, 3})
                                         : transpose(split, {0, 2, 1, 3});
}

// Attention with a mask that is added to the scores. A query of which it hides
// all keys, by -∞, gets NaN, as from a softmax of such scores.
Value with_added_mask(const Attributes& attributes, const Value& query,
                      const Value& key, const Value& value, const Value& mask) {
  const double scale = attention_scale(attributes, query.shape().back());
  Value scores = matmul(query * scale, key, {false, true}) + mask;
  if (attributes.flag("causal")) {
    const Dim queries = scores.shape()[2];
    const Value order = reshape(iota(queries), {queries, 1});
    scores = where(less_equal(iota(scores.shape()[3]), order), scores,
                   scalar(kHiddenScore, scores.dtype()));
  }
  return matmul(softmax(scores), value);
}

std::vector<Value> lower_heads(const Attributes& attributes,
                               std::span<const Value> inputs) {
  const Value query = heads_apart(attributes, inputs[0], 0);
  const Value key = heads_apart(attributes, inputs[1], 1);
  const Value value = heads_apart(attributes, inputs[2], 2);
  const AttentionOptions options{attributes.flag("causal"),
                                 attributes.real("scale")};
  Value y;
  if (inputs.size() <= HeadSizes::kMask) {
    y = attention(query, key, value, options);
  } else if (const Value& mask = inputs[HeadSizes::kMask];
             mask.dtype() == DType::kBool) {
    y = attention(query, key, value, mask, options);
  } else {
    y = with_added_mask(attributes, query, key, value, mask);
  }
  if (attributes.flag("apart")) return {y};
  const bool has_length_first = attributes.flag("length_first");
  const Value t = has_length_first ? transpose(y, {2, 0, 1, 3})
                                   : transpose(y, {0, 2, 1, 3});
  const Shape& shape = t.shape();
  return {reshape(t, {shape[0], shape[1], shape[2] * shape[3]})};
}

// As attention: two flops for each number of a key and of a value, and about
// ten for exp.
Cost heads_cost(const OpCall& call) {
  const AttentionSizes size = HeadSizes(call).attention(call);
  const double pairs = static_cast<double>(size.stacks) *
                       static_cast<double>(size.queries) *
                       static_cast<double>(size.keys) * (size.causal ? 0.5 : 1);
  return Cost::of(
      call,
      pairs * (2 * static_cast<double>(size.width + size.value_width) + 10));
}

InputSample added(const Shape& shape) { return floats(shape, -2, 2); }

// Heads fill the columns or are a part of them, next to each other or not, and
// stand apart in some operands; the length comes first or second; masks hide,
// or are added.
std::vector<OpSample> heads_samples() {
  const Attributes three = {{"heads", std::int64_t{3}}};
  const auto with = [](Attributes attributes, const char* name, auto value) {
    attributes.set(name, value);
    return attributes;
  };
  const Attributes packed = {{"heads", std::int64_t{3}},
                             {"width", std::int64_t{4}},
                             {"value_width", std::int64_t{4}},
                             {"first", Integers{0, 12, 24}}};
  const Attributes striped = {{"heads", std::int64_t{2}},
                              {"width", std::int64_t{3}},
                              {"value_width", std::int64_t{4}},
                              {"first", Integers{0, 3, 6}},
                              {"step", Integers{10, 10, 10}}};
  const InputSample q = floats({2, 5, 12}), k = floats({2, 7, 12});
  const InputSample v = floats({2, 7, 6});
  const InputSample all = floats({2, 5, 36});
  return {
      {{q, k, v}, three},
      {{q, k, v}, with(three, "apart", true)},
      {{q, k, v, bools({2, 1, 1, 7})}, three},
      {{q, k, v, bools({5, 7})}, with(three, "scale", 0.75)},
      {{q, k, v, added({2, 1, 1, 7})}, three},
      {{q, k, v, added({3, 5, 7})}, with(three, "causal", true)},
      {{q, floats({2, 3, 7, 4}), v}, three},
      {{floats({5, 2, 12}), floats({7, 2, 12}), floats({7, 2, 6})},
       with(three, "length_first", true)},
      {{all, all, all}, packed},
      {{all, all, all}, with(packed, "length_first", true)},
      {{floats({2, 4, 20}), floats({2, 4, 20}), floats({2, 4, 20})}, striped},
      {{floats({0, 3, 4}), floats({0, 5, 4}), floats({0, 5, 4})}, {}},
      {{floats({2, 9, 8}, -1, 1, DType::kBF16),
        floats({2, 9, 8}, -1, 1, DType::kBF16),
        floats({2, 9, 8}, -1, 1, DType::kBF16)},
       {{"heads", std::int64_t{2}}}}};
}

}  // namespace

void register_multi_head_attention(OpRegistry& ops) {
  ops.add("multi_head_attention")
      .summary("attention whose heads lie side by side in columns")
      .signature("(query, key, value, mask?) -> y")
      .attribute("heads", std::int64_t{1})
      // The columns of a head; 0 stands for an equal part of all.
      .attribute("width", std::int64_t{0})
      .attribute("value_width", std::int64_t{0})
      // The first column of query, key and value, and how many columns lie from
      // one head to the next; 0 stands for its width.
      .attribute("first", Integers{0, 0, 0})
      .attribute("step", Integers{0, 0, 0})
      .attribute("scale", 0.0)
      .attribute("causal", false)
      .attribute("length_first", false)
      // Whether the result is [batch, heads, queries, value width].
      .attribute("apart", false)
      .infer(infer_heads)
      .reference(heads_reference)
      .lower(lower_heads)
      .gradient(lowered_gradient)
      .cost(heads_cost)
      .samples(heads_samples);
}

}  // namespace weft
