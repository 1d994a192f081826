// TfIdfVectorizer: how often each n-gram of a list stands in rows of words,
// which are numbers here.
#include <algorithm>

#include "weft/base/index.h"
#include "weft/onnx/node.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/index.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft::onnx {
namespace {

// How often each of the n-grams [count, n] stands in rows [N, words] whose
// words lie `step` apart: f32[N, count].
Value matches(const Value& rows, std::span<const std::int64_t> pool,
              std::int64_t n, std::int64_t step) {
  const std::int64_t windows = rows.shape()[1] - (n - 1) * step;
  const Dim count = std::ssize(pool) / n;
  if (windows < 1) return full({DType::kF32, {rows.shape()[0], count}}, 0);
  Value all;
  for (std::int64_t i = 0; i < n; ++i) {
    Integers words;
    for (Dim gram = 0; gram < count; ++gram) {
      words.push_back(pool[at(gram * n + i)]);
    }
    const Value word = Tensor::of<std::int64_t>(
        {1, 1, count}, std::span<const std::int64_t>(words));
    const Value seen = slice_axis(rows, 1, i * step, i * step + windows);
    const Value is_word =
        equal(reshape(seen, {rows.shape()[0], windows, 1}), word);
    all = all.is_defined() ? logical_and(all, is_word) : is_word;
  }
  return sum(cast(all, DType::kF32), {1});
}

// The n-grams of one length, where they stand in the list.
struct Grams {
  std::int64_t n = 0;
  std::int64_t begin = 0;  // in the list of words
  std::int64_t end = 0;
  std::int64_t first = 0;  // among all n-grams
};

std::vector<Grams> grams_of(const OnnxNode& node, std::int64_t words,
                            std::int64_t places) {
  const Integers begins = node.integers("ngram_counts");
  std::vector<Grams> result;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const auto n = static_cast<std::int64_t>(i) + 1;
    const std::int64_t end = i + 1 < begins.size() ? begins[i + 1] : words;
    if (begins[i] < 0 || end < begins[i] || end > words ||
        (end - begins[i]) % n != 0) {
      throw node.damaged("{}-grams from word {} to {} of {}", n, begins[i], end,
                         words);
    }
    result.push_back({n, begins[i], end, first});
    first += (end - begins[i]) / n;
  }
  if (first != places) {
    throw node.damaged("{} n-grams with {} places", first, places);
  }
  return result;
}

Value weights_of(const OnnxNode& node, std::int64_t places) {
  const std::vector<float> weights = node.reals("weights");
  if (weights.empty()) return Value();
  if (std::ssize(weights) != places) {
    throw node.damaged("{} weights of {} n-grams", weights.size(), places);
  }
  return Tensor::of<float>({static_cast<Dim>(places)}, weights);
}

void import_tf_idf_vectorizer(OnnxNode& node) {
  if (node.has_attribute("pool_strings")) {
    throw node.unsupported("is of texts, which Weft has not");
  }
  const Integers pool = node.integers("pool_int64s");
  const Integers places = node.integers("ngram_indexes");
  const std::string mode = node.text("mode");
  const std::int64_t shortest = node.integer("min_gram_length");
  const std::int64_t longest = node.integer("max_gram_length");
  const std::int64_t skips = node.integer("max_skip_count");
  const Value x = cast(node.input(0), DType::kI64);
  const bool is_row = x.shape().rank() == 1;
  const Value rows = is_row ? reshape(x, {1, -1}) : x;
  if (rows.shape().rank() != 2 || is_symbolic(rows.shape()[1])) {
    throw node.unsupported("rows of an unknown number of words");
  }
  constexpr std::int64_t kMostPlaces = std::int64_t{1} << 31;
  if (places.empty() || std::ranges::min(places) < 0 ||
      std::ranges::max(places) >= kMostPlaces) {
    throw node.damaged("n-grams without places");
  }
  const auto grams = grams_of(node, std::ssize(pool), std::ssize(places));
  const Value weights = weights_of(node, std::ssize(places));
  const Dim width = std::ranges::max(places) + 1;
  Value y = full({DType::kF32, {rows.shape()[0], width}}, 0);
  for (const Grams& g : grams) {
    if (g.n < shortest || g.n > longest || g.begin == g.end) continue;
    const auto words =
        std::span(pool).subspan(at(g.begin), at(g.end - g.begin));
    Value count = matches(rows, words, g.n, 1);
    // A single word has nothing between its words that could be skipped.
    const Dim longest_row = rows.shape()[1];
    for (std::int64_t step = 2;
         g.n > 1 && step - 1 <= skips && step < longest_row; ++step) {
      count = count + matches(rows, words, g.n, step);
    }
    const Dim number = count.shape()[1];
    if (mode == "IDF") count = minimum(count, scalar_like(count, 1));
    if (mode != "TF" && weights.is_defined()) {
      count = count * slice_axis(weights, 0, g.first, g.first + number);
    }
    const Value where_to = Tensor::of<std::int64_t>(
        {number}, std::span(places).subspan(at(g.first), at(number)));
    y = y + scatter_add(count, where_to, width, 1);
  }
  node.set(is_row ? reshape(y, {width}) : y);
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_ngrams(OnnxRegistry& ops) {
  ops.add(
      {.name = "TfIdfVectorizer", .import = onnx::import_tf_idf_vectorizer});
}

}  // namespace weft
