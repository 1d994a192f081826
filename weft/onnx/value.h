// A value of an ONNX graph while it is imported: what the engine computes, or
// what is known of it already.
//
// ONNX's images have their channels behind the batch, the engine's have them
// last. So a value may be there in either order of its axes; the other one is
// made when somebody asks for it, and ops that do not care go on with what is
// there. Transpositions stand only where both are needed.
//
// Threads: as Value.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "weft/graph/value.h"

namespace weft::onnx {

// A number that a shape is made of. Negative ones mean what they do in ONNX; a
// dim with symbols is an Extent of its own kind, so that the two differ.
struct Extent {
  std::int64_t value = 0;
  bool is_symbolic = false;

  static Extent of(Dim dim) { return {dim, weft::is_symbolic(dim)}; }
  bool operator==(const Extent&) const = default;
};
using Extents = std::vector<Extent>;

struct Quantized;

class OnnxValue {
 public:
  OnnxValue() = default;  // an operand that was left out
  // NOLINTNEXTLINE: a value in ONNX's order of axes
  OnnxValue(Value value);
  // [N, spatial…, C], for what ONNX has as [N, C, spatial…].
  static OnnxValue channels_last(Value value);
  // Integers of a shape, one of them at least with symbols: a vector, or a
  // scalar.
  static OnnxValue of(Extents extents, bool is_scalar, DType dtype);
  // A value in the order that it is there in.
  static OnnxValue dequantized(OnnxValue value, Quantized from);
  // A sequence of tensors, which exists while importing only: its length and
  // the place of each element are known.
  static OnnxValue sequence(std::vector<OnnxValue> elements);
  // An optional that holds nothing.
  static OnnxValue nothing();

  bool is_defined() const { return state_ != nullptr; }
  bool is_nothing() const;
  // Null for a tensor.
  const std::vector<OnnxValue>* elements() const;

  // What follows is of tensors. type(), plain() and last() throw
  // Error(kUnsupported) for a sequence, and for what holds nothing.
  //
  // Its dims stand in the order that ONNX has them.
  TensorType type() const;
  int rank() const { return type().shape.rank(); }

  // In ONNX's order, and with channels last. Both may add ops to the current
  // context. last() throws Error(kDataLoss) for less than two axes.
  Value plain() const;
  Value last() const;
  // Whether only the one with channels last is there.
  bool is_channels_last() const;

  // A tensor that is known while importing: all of it is there, and it does not
  // depend on the graph's inputs. So is a sequence of such.
  bool is_known() const;
  // Integers that are known, or dims with symbols; nothing for others.
  std::optional<Extents> extents() const;
  bool is_symbolic() const;
  const Quantized* quantized() const;

 private:
  struct State;
  void expect_tensor() const;
  std::shared_ptr<State> state_;
};

// What DequantizeLinear made a value from, for products that can take the
// integers themselves.
struct Quantized {
  OnnxValue integers;
  Value scale;
  Value zero_point;  // undefined: 0
  std::int64_t axis = 0;
};

// The same elements under another shape, or as they are if that is theirs. What
// is known stays so.
Value reshaped(const Value& x, const Shape& shape);
// Axes in another order; a reshape where only axes of one element move.
Value reordered(const Value& x, const Integers& order);

// Permutations between the two orders of `rank` axes.
Integers to_channels_last(int rank);
Integers to_channels_first(int rank);

}  // namespace weft::onnx
