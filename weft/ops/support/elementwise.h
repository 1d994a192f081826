// What the elementwise ops share: NumPy broadcasting, and the reference loop.
#pragma once

#include <algorithm>
#include <array>

#include "weft/graph/gradient.h"
#include "weft/graph/registry.h"
#include "weft/tensor/round_to_odd.h"

namespace weft {

// Entries of elementwise ops of one floating operand, of one number, and of two
// numbers that broadcast: all that is left to say is what they compute.
OpDef& add_floating_unary(OpRegistry& ops, const char* name);
OpDef& add_number_unary(OpRegistry& ops, const char* name);
OpDef& add_binary(OpRegistry& ops, const char* name);

// The shape that all operands broadcast to. Throws through call.error when
// two dims differ and neither is 1.
Shape broadcast_shapes(const OpCall& call);

// These throw through call.error: unless all operands from `first` on have one
// dtype,
void require_one_dtype(const OpCall& call, std::size_t first = 0);
// unless all are floating,
void require_floating(const OpCall& call);
// unless none is bool.
void require_number(const OpCall& call);
// Bool for the first `count` operands.
void require_bool(const OpCall& call, std::size_t count);

// Inference: numbers of one dtype, broadcast; the result has their dtype.
std::vector<TensorType> infer_broadcast(const OpCall& call);
// The same for comparisons: the result is bool.
std::vector<TensorType> infer_comparison(const OpCall& call);
// One floating operand; the result is like it.
std::vector<TensorType> infer_floating_unary(const OpCall& call);
// One operand of any dtype; the result is like it.
std::vector<TensorType> infer_like_input(const OpCall& call);
// The same, but not bool.
std::vector<TensorType> infer_number_unary(const OpCall& call);

// Sums `gradient` over the axes along which `shape` was broadcast to it.
Value sum_to(const Value& gradient, const Shape& shape);

// Where element `index` (row-major) of `to` comes from in an operand of shape
// `from` that broadcasts to it.
class BroadcastIndex {
 public:
  BroadcastIndex(const Shape& from, const Shape& to);
  std::int64_t operator()(std::int64_t index) const;

 private:
  Shape to_;
  std::array<std::int64_t, Shape::kMaxRank> strides_{};
};

// Element access by value for reference kernels, whatever the dtype.
template <class Number>
Number load_as(const TensorView& view, std::int64_t index) {
  return dispatch(view.dtype(), [&]<class T>(T) {
    const T value = view.as<T>()[index];
    if constexpr (std::is_class_v<T>) {
      return static_cast<Number>(static_cast<float>(value));
    } else {
      return static_cast<Number>(value);
    }
  });
}
template <class Number>
void store_as(const TensorView& view, std::int64_t index, Number value) {
  dispatch(view.dtype(), [&]<class T>(T) {
    if constexpr (std::is_same_v<T, bool>) {
      view.as<T>()[index] = value != Number{0};
    } else if constexpr (std::is_class_v<T>) {
      view.as<T>()[index] = T(round_to_odd(static_cast<double>(value)));
    } else {
      view.as<T>()[index] = static_cast<T>(value);
    }
  });
}

// Applies `function` (of one to three Numbers) to every element of the
// operands, of which index(n, i) gives the one that element i needs of operand
// n. Integers compute in int64, everything else in double.
template <class Function, class Index>
void reference_elements(std::span<const TensorView> inputs, const TensorView& y,
                        Function&& function, Index&& index) {
  const auto run = [&]<class Number>(Number) {
    for (std::int64_t i = 0; i < y.size(); ++i) {
      const auto operand = [&](std::size_t n) {
        return load_as<Number>(inputs[n], index(n, i));
      };
      if constexpr (std::is_invocable_v<Function, Number>) {
        store_as(y, i, function(operand(0)));
      } else if constexpr (std::is_invocable_v<Function, Number, Number>) {
        store_as(y, i, function(operand(0), operand(1)));
      } else {
        store_as(y, i, function(operand(0), operand(1), operand(2)));
      }
    }
  };
  const bool integral =
      std::all_of(inputs.begin(), inputs.end(),
                  [](const TensorView& x) { return !is_floating(x.dtype()); });
  if (integral)
    run(std::int64_t{});
  else
    run(double{});
}

// The same for operands that broadcast.
template <class Function>
void reference_loop(std::span<const TensorView> inputs, const TensorView& y,
                    Function&& function) {
  if (y.shape().is_scalar()) {  // in a few nanoseconds: recursions run this
    return reference_elements(inputs, y, function,
                              [](std::size_t, std::int64_t) { return 0; });
  }
  // On the stack, since plans run this too; a missing operand's is unused.
  const auto index_of = [&](std::size_t n) {
    return BroadcastIndex(inputs[std::min(n, inputs.size() - 1)].shape(),
                          y.shape());
  };
  const std::array<BroadcastIndex, 3> index{index_of(0), index_of(1),
                                            index_of(2)};
  reference_elements(inputs, y, function, [&](std::size_t n, std::int64_t i) {
    return index[n](i);
  });
}

// A reference kernel and a cost from a stateless function.
template <auto kFunction>
void elementwise_reference(const OpCall&, std::span<const TensorView> inputs,
                           std::span<const TensorView> outputs) {
  reference_loop(inputs, outputs[0], kFunction);
}
// The same for functions of one double.
template <auto kFunction>
void floating_reference(const OpCall&, std::span<const TensorView> inputs,
                        std::span<const TensorView> outputs) {
  reference_loop(inputs, outputs[0],
                 [](auto x) { return kFunction(static_cast<double>(x)); });
}
template <int kFlops>
Cost elementwise_cost(const OpCall& call) {
  return Cost::elementwise(call, kFlops);
}

}  // namespace weft
