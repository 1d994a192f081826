// Random ops beside those of random.cpp: what is drawn from distributions over
// classes and integers, and keys from keys.
#include <limits>

#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/random.h"
#include "weft/ops/reduce.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/random_bits.h"
#include "weft/ops/support/random_call.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

void gumbel_reference(const OpCall& call, std::span<const TensorView> inputs,
                      std::span<const TensorView> outputs) {
  // Each element is a function of key, stream and its own place, so that
  // kernels may draw in any order and any number of threads.
  for_each_key(
      call, inputs[0], outputs[0],
      [&](const RandomStream& stream, std::int64_t first, std::int64_t size) {
        for (std::int64_t i = 0; i < size; ++i) {
          store_as(outputs[0], first + i,
                   gumbel_element(stream.word(static_cast<std::uint64_t>(i))));
        }
      });
}

// Element i comes from words 2i and 2i + 1.
void randint_reference(const OpCall& call, std::span<const TensorView> inputs,
                       std::span<const TensorView> outputs) {
  // The range may be as wide as i64: unsigned arithmetic wraps where a signed
  // difference would overflow.
  const std::uint64_t count = randint_count(call.attributes);
  const auto low = static_cast<std::uint64_t>(call.attributes.integer("low"));
  for_each_key(
      call, inputs[0], outputs[0],
      [&](const RandomStream& stream, std::int64_t first, std::int64_t size) {
        for (std::int64_t i = 0; i < size; ++i) {
          const auto word = static_cast<std::uint64_t>(2 * i);
          const std::uint64_t drawn =
              randint_element(stream.word(word), stream.word(word + 1), count);
          store_as(outputs[0], first + i,
                   static_cast<std::int64_t>(low + drawn));
        }
      });
}

// Key i of those that a key makes is (words 2i and 2i + 1, 0).
void split_key_reference(const OpCall&, std::span<const TensorView> inputs,
                         std::span<const TensorView> outputs) {
  // The stream of its own keeps the new keys apart from what is drawn by the
  // old one.
  const auto* key = inputs[0].as<std::int64_t>();
  auto* made = outputs[0].as<std::int64_t>();
  const std::int64_t keys = inputs[0].size() / 2;
  const Dim count = outputs[0].shape()[outputs[0].shape().rank() - 2];
  for (std::int64_t k = 0; k < keys; ++k, key += 2) {
    const RandomStream stream{static_cast<std::uint64_t>(key[0]), kSplitStream,
                              static_cast<std::uint32_t>(key[1])};
    for (std::int64_t i = 0; i < count; ++i, made += 2) {
      const auto word = static_cast<std::uint64_t>(2 * i);
      made[0] = static_cast<std::int64_t>(
          std::uint64_t{stream.word(word + 1)} << 32 | stream.word(word));
      // A new key begins at step 0, whatever step the old one was at.
      made[1] = 0;
    }
  }
}

std::vector<TensorType> infer_randint(const OpCall& call) {
  const auto dtype = call.attributes.get<DType>("dtype");
  if (dtype != DType::kI32 && dtype != DType::kI64) {
    throw call.error("draws i32 or i64, not {}", to_string(dtype));
  }
  const std::int64_t low = call.attributes.integer("low");
  const std::int64_t high = call.attributes.integer("high");
  if (low >= high) {
    throw call.error("there is no integer in [{}, {})", low, high);
  }
  using Narrow = std::numeric_limits<std::int32_t>;
  if (dtype == DType::kI32 &&
      (low < Narrow::min() || high - 1 > Narrow::max())) {
    throw call.error("i32 does not hold all of [{}, {})", low, high);
  }
  return {drawn_type(call, dtype)};
}

std::vector<TensorType> infer_split_key(const OpCall& call) {
  const std::int64_t count = call.attributes.integer("count");
  if (count < 1) throw call.error("makes at least one key, not {}", count);
  Shape shape = key_axes(call);
  shape.push_back(count);
  shape.push_back(2);
  return {{DType::kI64, shape}};
}

std::vector<TensorType> infer_categorical(const OpCall& call) {
  require_key(call, 0);
  const TensorType& logits = call.input(1);
  if (!is_floating(logits.dtype)) {
    throw call.error("takes floating logits, got {}", to_string(logits.dtype));
  }
  const int rank = logits.shape.rank();
  // softmax over no classes has no probabilities.
  if (rank < 1 || logits.shape.back() == 0) {
    throw call.error("there is no class to draw");
  }
  return {{DType::kI64, Shape(logits.shape.first(rank - 1))}};
}

std::vector<Value> lower_categorical(const Attributes& attributes,
                                     std::span<const Value> inputs) {
  const Value& logits = inputs[1];
  // bf16 and f16 would make many classes equal.
  const DType dtype = logits.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  const Value noise =
      gumbel(inputs[0], logits.shape(), attributes.integer("stream"), dtype);
  // The class with the largest logit + noise is distributed as softmax(logits),
  // without the softmax (Gumbel, "Statistical theory of extreme values", 1954).
  return {argmax(to_dtype(logits, dtype) + noise, -1)};
}

// The range that is all of i64 has no size that an i64 could hold.
std::vector<OpSample> randint_samples() {
  const auto draw = [](const Shape& shape, std::int64_t low, std::int64_t high,
                       DType dtype = DType::kI64,
                       const InputSample& keys = random_key()) {
    return OpSample{{keys},
                    {{"shape", shape},
                     {"stream", std::int64_t{3}},
                     {"low", low},
                     {"high", high},
                     {"dtype", dtype}}};
  };
  using Wide = std::numeric_limits<std::int64_t>;
  return {draw({3, 5}, 0, 10),
          draw({}, -3, -2),
          draw({0}, 0, 2),
          draw({2049}, -100, 1000, DType::kI32),
          draw({77}, Wide::min(), Wide::max()),
          draw({9}, 0, 7, DType::kI32, random_keys({4}))};
}

// Logits of 30 make classes that next to never come.
std::vector<OpSample> categorical_samples() {
  const auto draw = [](InputSample logits) {
    logits.is_differentiable = false;
    return OpSample{{random_key(), std::move(logits)},
                    {{"stream", std::int64_t{5}}}};
  };
  return {draw(floats({3, 5}, -2, 2)), draw(floats({7})), draw(floats({0, 3})),
          draw(floats({2, 3, 4}, -30, 30)),
          draw(floats({4, 9}, -1, 1, DType::kBF16))};
}

}  // namespace

void register_draws(OpRegistry& ops) {
  add_drawer(ops, "gumbel")
      .summary("standard Gumbel: -log(-log(u)) of uniform u")
      .attribute("dtype", DType::kF32)
      .infer(infer_floating_draw)
      .reference(gumbel_reference)
      .samples(drawn_samples);
  add_drawer(ops, "randint")
      .summary("integers in [low, high), all as probable")
      .required("low", std::int64_t{0})
      .required("high", std::int64_t{1})
      .attribute("dtype", DType::kI64)
      .infer(infer_randint)
      .reference(randint_reference)
      .samples(randint_samples);
  ops.add("categorical")
      .summary("a class per row, drawn with the probability softmax(logits)")
      .signature("(key, logits) -> classes")
      .required("stream", std::int64_t{0})
      .traits(kRandom | kNoGradient)
      .infer(infer_categorical)
      .lower(lower_categorical)
      .cost([](const OpCall& call) {
        return Cost::of(
            call, kPhiloxFlops *
                      static_cast<double>(call.input(1).shape.num_elements()));
      })
      .samples(categorical_samples);
  ops.add("split_key")
      .summary("keys of their own, made from each key")
      .signature("(keys) -> keys")
      .batch(batch_keys)
      .required("count", std::int64_t{2})
      .traits(kRandom | kNoGradient)
      .infer(infer_split_key)
      .reference(split_key_reference)
      .cost(elementwise_cost<kPhiloxFlops>)
      .samples([] {
        return std::vector<OpSample>{
            {{random_key()}, {{"count", std::int64_t{1}}}},
            {{random_key()}, {{"count", std::int64_t{5}}}},
            {{random_keys({2, 3})}, {{"count", std::int64_t{4}}}}};
      });
}

Value gumbel(const Operand& keys, const Shape& shape, std::int64_t stream,
             DType dtype) {
  static const OpDef& op = op_registry().get("gumbel");
  return call(op, {keys.value},
              {{"shape", shape}, {"stream", stream}, {"dtype", dtype}},
              keys.location);
}

Value categorical(const Operand& key, const Operand& logits,
                  std::int64_t stream) {
  static const OpDef& op = op_registry().get("categorical");
  return call(op, {key.value, logits.value}, {{"stream", stream}},
              logits.location);
}

Value randint(const Operand& keys, const Shape& shape, std::int64_t stream,
              std::int64_t low, std::int64_t high, DType dtype) {
  static const OpDef& op = op_registry().get("randint");
  return call(op, {keys.value},
              {{"shape", shape},
               {"stream", stream},
               {"low", low},
               {"high", high},
               {"dtype", dtype}},
              keys.location);
}

Value split_key(const Operand& keys, std::int64_t count) {
  static const OpDef& op = op_registry().get("split_key");
  return call(op, {keys.value}, {{"count", count}}, keys.location);
}

}  // namespace weft
