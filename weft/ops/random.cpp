#include "weft/ops/random.h"

#include "weft/base/permutation.h"
#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/random_bits.h"
#include "weft/ops/support/random_call.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

void uniform_reference(const OpCall& call, std::span<const TensorView> inputs,
                       std::span<const TensorView> outputs) {
  const TensorView& y = outputs[0];
  // Philox (Salmon et al., "Parallel random numbers", 2011) makes word i from a
  // counter: no state passes from element to element.
  dispatch(y.dtype(), [&]<class T>(T) {
    // The loop is made for every dtype, but inference lets only floats come
    // here.
    if constexpr (std::is_floating_point_v<T> || std::is_class_v<T>) {
      for_each_key(call, inputs[0], y,
                   [&](const RandomStream& stream, std::int64_t first,
                       std::int64_t size) {
                     for (std::int64_t i = 0; i < size; ++i) {
                       // Each word costs a whole block of four, of which the
                       // reference drops three.
                       y.as<T>()[first + i] = uniform_element<T>(
                           stream.word(static_cast<std::uint64_t>(i)));
                     }
                   });
    }
  });
}

// Elements 2i and 2i + 1 come from words 2i and 2i + 1.
void normal_reference(const OpCall& call, std::span<const TensorView> inputs,
                      std::span<const TensorView> outputs) {
  for_each_key(
      call, inputs[0], outputs[0],
      [&](const RandomStream& stream, std::int64_t first, std::int64_t size) {
        for (std::int64_t i = 0; i < size; ++i) {
          // Each pair of words gives two normals, so that element i can be
          // drawn without those before it. Box and Muller turn two uniform
          // numbers into two normal ones.
          const auto pair = static_cast<std::uint64_t>(i / 2 * 2);
          // Drawing both and keeping one is what a reference may afford.
          const auto normals =
              normal_from(stream.word(pair), stream.word(pair + 1));
          store_as(outputs[0], first + i,
                   normals[static_cast<std::size_t>(i % 2)]);
        }
      });
}

// Only 24 bits of a word are compared, as those are what uniform() has.
void bernoulli_reference(const OpCall& call, std::span<const TensorView> inputs,
                         std::span<const TensorView> outputs) {
  const std::uint32_t threshold =
      bernoulli_threshold(call.attributes.real("probability"));
  for_each_key(
      call, inputs[0], outputs[0],
      [&](const RandomStream& stream, std::int64_t first, std::int64_t size) {
        for (std::int64_t i = 0; i < size; ++i) {
          outputs[0].as<bool>()[first + i] = bernoulli_element(
              stream.word(static_cast<std::uint64_t>(i)), threshold);
        }
      });
}

void permutation_reference(const OpCall& call,
                           std::span<const TensorView> inputs,
                           std::span<const TensorView> outputs) {
  const TensorView& y = outputs[0];
  // A permutation of nothing has no first element to draw.
  if (y.size() == 0) return;
  for_each_key(
      call, inputs[0], y,
      [&](const RandomStream& stream, std::int64_t first, std::int64_t size) {
        const Permutation order(static_cast<std::uint64_t>(size), stream.seed,
                                stream.stream, stream.step);
        for (std::int64_t i = 0; i < size; ++i) {
          y.as<std::int64_t>()[first + i] =
              static_cast<std::int64_t>(order(static_cast<std::uint64_t>(i)));
        }
      });
}

void dropout_reference(const OpCall& call, std::span<const TensorView> inputs,
                       std::span<const TensorView> outputs) {
  // The mask is that of bernoulli() with the same key and stream, so that the
  // op and its lowered form agree.
  const RandomStream stream = stream_of(call, inputs[1]);
  const double rate = call.attributes.real("rate");
  const std::uint32_t threshold = bernoulli_threshold(1 - rate);
  for (std::int64_t i = 0; i < outputs[0].size(); ++i) {
    const bool is_kept = bernoulli_element(
        stream.word(static_cast<std::uint64_t>(i)), threshold);
    // A dropped element is 0 whatever x is, also where it is infinite or NaN.
    const auto x = load_as<double>(inputs[0], i);
    // The factor 1 / (1 - rate) keeps the expected value.
    store_as(outputs[0], i, is_kept ? x * (1 / (1 - rate)) : 0.0);
  }
}

void require_probability(const OpCall& call, std::string_view name,
                         double most) {
  const double value = call.attributes.real(name);
  // The comparisons are written so that NaN fails them.
  if (value >= 0 && value <= most) return;
  throw call.error("{} = {} is not a probability", name, value);
}

std::vector<TensorType> infer_bernoulli(const OpCall& call) {
  require_probability(call, "probability", 1);
  return {drawn_type(call, DType::kBool)};
}

std::vector<TensorType> infer_permutation(const OpCall& call) {
  if (call.attributes.get<Shape>("shape").rank() != 1)
    throw call.error("makes a vector");
  return {drawn_type(call, DType::kI64)};
}

std::vector<TensorType> infer_dropout(const OpCall& call) {
  const DType dtype = call.input(0).dtype;
  if (!is_floating(dtype)) {
    throw call.error("takes a floating x, got {}", to_string(dtype));
  }
  require_key(call, 1);
  require_probability(call, "rate", 1);
  if (call.attributes.real("rate") == 1) {
    throw call.error("rate = 1 would leave nothing to scale up");
  }
  // The result is like x: a mask would be a second output, kept until the
  // gradient.
  return {call.input(0)};
}

// Linear in x: the gradient passes through the same mask, drawn again rather
// than kept.
Gradients dropout_gradient(const GradientContext& g) {
  const Attributes& a = g.attributes();
  return {dropout(g.dy(), g.x(1), a.integer("stream"), a.real("rate")),
          Value()};
}

std::vector<Value> dropout_lower(const Attributes& attributes,
                                 std::span<const Value> inputs) {
  const Value& x = inputs[0];
  // The expression is that of the reference, so that the two thresholds agree
  // to the last bit.
  const double kept = 1 - attributes.real("rate");
  const Value mask =
      bernoulli(inputs[1], x.shape(), attributes.integer("stream"), kept);
  return {x * cast(mask, x.dtype()) * (1 / kept)};
}

// Probabilities of 0 and 1 must never, and always, be true.
std::vector<OpSample> bernoulli_samples() {
  std::vector<OpSample> samples;
  for (const double probability : {0.0, 0.3, 1.0}) {
    samples.push_back({{random_key()},
                       {{"shape", Shape{41, 7}},
                        {"stream", std::int64_t{1}},
                        {"probability", probability}}});
  }
  for (const auto& [keys, shape] :
       {std::pair{random_key(), Shape{0}}, {random_keys({3}), Shape{5, 7}}}) {
    samples.push_back({{keys},
                       {{"shape", shape},
                        {"stream", std::int64_t{1}},
                        {"probability", 0.5}}});
  }
  return samples;
}

// Within a size that is no power of two, a permutation has to try places again
// (base/permutation.h).
std::vector<OpSample> permutation_samples() {
  std::vector<OpSample> samples;
  for (const Dim size : {0, 1, 2, 17, 1000}) {
    for (const InputSample& keys : {random_key(), random_keys({2, 3})}) {
      samples.push_back(
          {{keys}, {{"shape", Shape{size}}, {"stream", std::int64_t{0}}}});
    }
  }
  return samples;
}

// A rate of 0 leaves all as it is.
std::vector<OpSample> dropout_samples() {
  const auto drop = [](InputSample x, double rate) {
    return OpSample{{std::move(x), random_key()},
                    {{"stream", std::int64_t{5}}, {"rate", rate}}};
  };
  return {drop(floats({3, 5}), 0.5),
          drop(floats({}), 0.25),
          drop(floats({0, 2}), 0.5),
          drop(floats({1}), 0.0),
          drop(floats({1003}), 0.3),
          drop(floats({9}, -1, 1, DType::kF64), 0.5),
          drop(floats({67}, -1, 1, DType::kBF16), 0.5)};
}

}  // namespace

void register_random(OpRegistry& ops) {
  add_drawer(ops, "uniform")
      .summary("uniform in [0, 1)")
      .attribute("dtype", DType::kF32)
      .infer(infer_floating_draw)
      .reference(uniform_reference)
      .samples(drawn_samples);
  add_drawer(ops, "normal")
      .summary("standard normal")
      .attribute("dtype", DType::kF32)
      .infer(infer_floating_draw)
      .reference(normal_reference)
      .samples(drawn_samples);
  add_drawer(ops, "bernoulli")
      .summary("true with a probability")
      .required("probability", 0.0)
      .infer(infer_bernoulli)
      .reference(bernoulli_reference)
      .samples(bernoulli_samples);
  add_drawer(ops, "permutation")
      .summary("0 … size-1 in random order")
      .infer(infer_permutation)
      .reference(permutation_reference)
      .samples(permutation_samples);
  ops.add("dropout")
      .summary("zeroes elements at random and scales the rest up")
      .signature("(x, key) -> y")
      .required("stream", std::int64_t{0})
      .required("rate", 0.0)
      .traits(kRandom)
      .infer(infer_dropout)
      .reference(dropout_reference)
      .gradient(dropout_gradient)
      .lower(dropout_lower)
      .cost(elementwise_cost<kPhiloxFlops>)
      .samples(dropout_samples);
}

Value uniform(const Operand& keys, const Shape& shape, std::int64_t stream,
              DType dtype) {
  static const OpDef& op = op_registry().get("uniform");
  return call(op, {keys.value},
              {{"shape", shape}, {"stream", stream}, {"dtype", dtype}},
              keys.location);
}

Value normal(const Operand& keys, const Shape& shape, std::int64_t stream,
             DType dtype) {
  static const OpDef& op = op_registry().get("normal");
  return call(op, {keys.value},
              {{"shape", shape}, {"stream", stream}, {"dtype", dtype}},
              keys.location);
}

Value bernoulli(const Operand& keys, const Shape& shape, std::int64_t stream,
                double probability) {
  static const OpDef& op = op_registry().get("bernoulli");
  return call(
      op, {keys.value},
      {{"shape", shape}, {"stream", stream}, {"probability", probability}},
      keys.location);
}

Value permutation(const Operand& keys, Dim size, std::int64_t stream) {
  static const OpDef& op = op_registry().get("permutation");
  return call(op, {keys.value}, {{"shape", Shape{size}}, {"stream", stream}},
              keys.location);
}

Value dropout(const Operand& x, const Operand& key, std::int64_t stream,
              double rate) {
  static const OpDef& op = op_registry().get("dropout");
  return call(op, {x.value, key.value}, {{"stream", stream}, {"rate", rate}},
              x.location);
}

}  // namespace weft
