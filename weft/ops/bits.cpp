#include "weft/ops/bits.h"

#include "weft/graph/registry.h"
#include "weft/ops/compare.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/support/scalar_functions.h"

namespace weft {
namespace {

std::vector<TensorType> infer_bits(const OpCall& call) {
  require_one_dtype(call);
  const DType dtype = call.input(0).dtype;
  if (is_floating(dtype)) {
    throw call.error("takes integers or bool, got {}", to_string(dtype))
        .hint("convert it with cast(), or compare it first");
  }
  return {{dtype, broadcast_shapes(call)}};
}

std::vector<TensorType> infer_shift(const OpCall& call) {
  require_number(call);
  return infer_bits(call);
}

// kFunction is of integers alone, but the loop is made for floats too.
template <auto kFunction>
void bits_reference(const OpCall&, std::span<const TensorView> inputs,
                    std::span<const TensorView> outputs) {
  // All bits of a number fit i64; storing keeps the low ones.
  reference_loop(inputs, outputs[0], [](auto a, auto b) {
    return kFunction(static_cast<std::int64_t>(a),
                     static_cast<std::int64_t>(b));
  });
}

void not_reference(const OpCall& call, std::span<const TensorView> inputs,
                   std::span<const TensorView> outputs) {
  // A bool has one bit: with all of them inverted, 1 would become -2, which
  // counts as true.
  const std::int64_t all = call.input(0).dtype == DType::kBool ? 1 : -1;
  reference_loop(inputs, outputs[0],
                 [=](auto x) { return static_cast<std::int64_t>(x) ^ all; });
}

template <auto kFunction>
void shift_reference(const OpCall& call, std::span<const TensorView> inputs,
                     std::span<const TensorView> outputs) {
  const auto width =
      static_cast<std::int64_t>(8 * size_of(call.input(0).dtype));
  reference_loop(inputs, outputs[0], [=](auto a, auto count) {
    return kFunction(static_cast<std::int64_t>(a),
                     static_cast<std::int64_t>(count), width);
  });
}

// Every dtype that has bits, with every one of them in use.
std::vector<OpSample> bit_samples() {
  std::vector<OpSample> samples = integer_samples(-100, 100);
  samples.push_back({{integers({3, 1}, 0, 255, DType::kU8),
                      integers({41}, 0, 255, DType::kU8)},
                     {}});
  samples.push_back({{integers({67}, -32768, 32767, DType::kI16),
                      integers({}, -32768, 32767, DType::kI16)},
                     {}});
  samples.push_back({{bools({3, 5}), bools({5})}, {}});
  samples.push_back({{integers({0}, 0, 9), integers({1}, 0, 9)}, {}});
  return samples;
}

std::vector<OpSample> not_samples() {
  std::vector<OpSample> samples = with_integer_vectors({});
  samples.push_back({{integers({41}, 0, 255, DType::kU8)}, {}});
  samples.push_back({{bools({3, 5})}, {}});
  return samples;
}

// Counts on both sides of what is left of a number.
std::vector<OpSample> shift_samples() {
  const auto by = [](DType dtype, std::int64_t low, std::int64_t high,
                     std::int64_t most) {
    return OpSample{
        {integers({5, 37}, low, high, dtype), integers({37}, -2, most, dtype)},
        {}};
  };
  return {by(DType::kI8, -128, 127, 10),
          by(DType::kI16, -32768, 32767, 18),
          by(DType::kI32, -1000000, 1000000, 35),
          by(DType::kI64, -1000000, 1000000, 70),
          {{integers({41}, 0, 255, DType::kU8), integers({}, 3, 3, DType::kU8)},
           {}},
          {{integers({0}, 0, 9), integers({1}, 0, 9)}, {}}};
}

OpDef& add_bits(OpRegistry& ops, const char* name,
                const char* signature = "(a, b) -> y") {
  return ops.add(name)
      .signature(signature)
      .traits(kElementwise | kNoGradient)
      .infer(infer_bits)
      .batch(batch_elementwise)
      .cost(elementwise_cost<1>)
      .samples(bit_samples);
}

OpDef& add_shift(OpRegistry& ops, const char* name) {
  return add_bits(ops, name, "(a, count) -> y")
      .infer(infer_shift)
      .samples(shift_samples);
}

// ONNX has other ops for truths.
template <OnnxName kName>
void export_bits(OnnxContext& c) {
  const bool is_truth = c.type(0).dtype == DType::kBool;
  export_elementwise(c, (is_truth ? "" : "Bitwise") + std::string(kName.text));
}

}  // namespace

void register_bits(OpRegistry& ops) {
  add_bits(ops, "bitwise_and")
      .summary("the bits that both have")
      .traits(kCommutative)
      .reference(bits_reference<kBitwiseAnd>)
      .onnx(export_bits<"And">);
  add_bits(ops, "bitwise_or")
      .summary("the bits that either has")
      .traits(kCommutative)
      .reference(bits_reference<kBitwiseOr>)
      .onnx(export_bits<"Or">);
  add_bits(ops, "bitwise_xor")
      .summary("the bits that one has, but not both")
      .traits(kCommutative)
      .reference(bits_reference<kBitwiseXor>)
      .onnx(export_bits<"Xor">);
  add_bits(ops, "bitwise_not", "(x) -> y")
      .summary("the bits that x has not; of a bool, its opposite")
      .reference(not_reference)
      .onnx(export_bits<"Not">)
      .samples(not_samples);
  add_shift(ops, "shift_left")
      .summary("a 2^count, without the bits that do not fit; 0 for count < 0")
      .reference(shift_reference<kShiftLeft>);
  add_shift(ops, "shift_right")
      .summary("a / 2^count rounded down; the sign, 0 or -1, for count < 0")
      .reference(shift_reference<kShiftRight>);
}

Value bitwise_and(const Operand& a, const Operand& b) {
  static const OpDef& op = op_registry().get("bitwise_and");
  return call(op, {a.value, b.value}, {}, a.location);
}

Value bitwise_or(const Operand& a, const Operand& b) {
  static const OpDef& op = op_registry().get("bitwise_or");
  return call(op, {a.value, b.value}, {}, a.location);
}

Value bitwise_xor(const Operand& a, const Operand& b) {
  static const OpDef& op = op_registry().get("bitwise_xor");
  return call(op, {a.value, b.value}, {}, a.location);
}

Value bitwise_not(const Operand& x) {
  // This one has a loop of its own among bools.
  if (x.value->dtype() == DType::kBool) return logical_not(x);
  static const OpDef& op = op_registry().get("bitwise_not");
  return call(op, {x.value}, {}, x.location);
}

Value shift_left(const Operand& a, const Operand& count) {
  static const OpDef& op = op_registry().get("shift_left");
  return call(op, {a.value, count.value}, {}, a.location);
}

Value shift_right(const Operand& a, const Operand& count) {
  static const OpDef& op = op_registry().get("shift_right");
  return call(op, {a.value, count.value}, {}, a.location);
}

}  // namespace weft
