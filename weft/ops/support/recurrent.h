// What the recurrent ops share: checks of their operands, the products of their
// reference kernels, and the steps of their plain forms.
#pragma once

#include <cmath>
#include <vector>

#include "weft/graph/gradient.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/constant.h"
#include "weft/ops/join.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft::recurrent {

using Doubles = std::vector<double>;

inline double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

// Sizes of a layer whose first operands are x, h, …; `gates` counts the blocks
// of columns in its weights.
struct Sizes {
  Dim steps, batch, inputs, hidden;

  explicit Sizes(const OpCall& call)
      : steps(call.input(0).shape[0]),
        batch(call.input(0).shape[1]),
        inputs(call.input(0).shape[2]),
        hidden(call.input(1).shape[1]) {}

  Shape sequence() const { return {steps, batch, hidden}; }
  Shape state() const { return {batch, hidden}; }
  Shape gates() const { return {steps, batch, dim_multiply(4, hidden)}; }
};

// Throws through call.error unless the operand has this shape, and the dtype of
// the sequence.
inline void check_operand(const OpCall& call, std::size_t index,
                          const Shape& expected) {
  const TensorType type{call.input(0).dtype, expected};
  if (!(call.input(index) == type)) {
    throw call.error("{} must be {}", call.op.input_name(index),
                     to_string(type));
  }
}

// Throws through call.error unless x is [steps, batch, inputs] and h is [batch,
// hidden], both f32 or both f64.
inline Sizes checked_sizes(const OpCall& call) {
  const DType dtype = call.input(0).dtype;
  if (dtype != DType::kF32 && dtype != DType::kF64) {
    throw call.error("computes in f32 or f64, not in {}", to_string(dtype))
        .hint("cast the sequence and the weights to f32");
  }
  if (call.input(0).shape.rank() != 3) {
    throw call.error("x must be [steps, batch, inputs]");
  }
  if (call.input(1).shape.rank() != 2) {
    throw call.error("h must be [batch, hidden]");
  }
  const Sizes size(call);
  check_operand(call, 1, size.state());
  return size;
}

// What the products of a layer are computed in: an attribute of the op. The
// state, the gates and all sums stay as the operands are.
inline constexpr const char* kWeights = "weights";

inline DType weights_dtype(const Attributes& attributes) {
  return attributes.get<DType>(kWeights);
}

// Whether operands are rounded before they are multiplied. Those of f64, which
// is for checks, are as they are.
inline bool is_narrow(DType weights) {
  return weights == DType::kBF16 || weights == DType::kI8;
}

// Throws through call.error for another dtype than there are.
inline void check_weights(const OpCall& call) {
  const DType dtype = weights_dtype(call.attributes);
  if (dtype == DType::kF32 || dtype == call.input(0).dtype) return;
  if (!is_narrow(dtype)) {
    throw call.error("multiplies weights of f32, bf16 or i8, not of {}",
                     to_string(dtype));
  }
  if (call.input(0).dtype != DType::kF32) {
    throw call.error("rounds weights of f32 to {}, not of {}", to_string(dtype),
                     to_string(call.input(0).dtype));
  }
}

// Weights of bf16 and i8 are for what a trained layer says: no gradient is that
// of rounding, and other ops have no such products.
inline void require_f32_weights(const Attributes& attributes,
                                std::string_view op) {
  const DType dtype = weights_dtype(attributes);
  if (!is_narrow(dtype)) return;
  throw Error(ErrorCode::kUnsupported, op,
              "has no gradient, and no plain form, with weights of {}",
              to_string(dtype))
      .hint("train with weights of f32; narrow ones are for serving");
}

// `numbers` as products in `dtype` see them, where the numbers of one scale lie
// `stride` apart, `count` of them from `first` on: rounded to bf16, or to
// multiples of a 127th of the largest.
inline void round_for_product(double* first, Dim count, Dim stride,
                              DType dtype) {
  if (!is_narrow(dtype)) return;
  double largest = 0;
  for (Dim i = 0; i < count; ++i) {
    largest = std::max(largest, std::abs(first[i * stride]));
  }
  for (Dim i = 0; i < count; ++i) {
    double& number = first[i * stride];
    if (dtype == DType::kBF16) {
      number = static_cast<float>(bfloat16(static_cast<float>(number)));
    } else if (largest > 0) {
      number = std::nearbyint(number / largest * 127) * largest / 127;
    }
  }
}
// Each row of a left operand by itself.
inline Doubles rounded_rows(Doubles rows, Dim width, DType dtype) {
  for (std::size_t at = 0; at < rows.size();
       at += static_cast<std::size_t>(width)) {
    round_for_product(rows.data() + at, width, 1, dtype);
  }
  return rows;
}
// Each column of weights by itself.
inline Doubles rounded_columns(Doubles weights, Dim columns, DType dtype) {
  const Dim rows = static_cast<Dim>(weights.size()) / std::max<Dim>(1, columns);
  for (Dim j = 0; j < columns && rows > 0; ++j) {
    round_for_product(weights.data() + j, rows, columns, dtype);
  }
  return weights;
}

// Rows [m, k] times columns [k, n], added to y.
inline void add_product(const double* a, const double* b, double* y, Dim m,
                        Dim k, Dim n) {
  for (Dim i = 0; i < m; ++i)
    for (Dim p = 0; p < k; ++p)
      for (Dim j = 0; j < n; ++j) y[i * n + j] += a[i * k + p] * b[p * n + j];
}
// The same with the transpose of b: [n, k].
inline void add_product_bt(const double* a, const double* b, double* y, Dim m,
                           Dim k, Dim n) {
  for (Dim i = 0; i < m; ++i)
    for (Dim j = 0; j < n; ++j)
      for (Dim p = 0; p < k; ++p) y[i * n + j] += a[i * k + p] * b[j * k + p];
}
// The same with the transpose of a: [k, m].
inline void add_product_at(const double* a, const double* b, double* y, Dim m,
                           Dim k, Dim n) {
  for (Dim p = 0; p < k; ++p)
    for (Dim i = 0; i < m; ++i)
      for (Dim j = 0; j < n; ++j) y[i * n + j] += a[p * m + i] * b[p * n + j];
}

inline Doubles zeros(Dim count) {
  return Doubles(static_cast<std::size_t>(count));
}

// Row `row` of a matrix with rows of `width`.
inline double* row_of(Doubles& matrix, Dim row, Dim width) {
  return matrix.data() + row * width;
}

// Sums each column of [rows, columns].
inline Doubles column_sums(const Doubles& matrix, Dim columns) {
  Doubles sums = zeros(columns);
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    sums[i % sums.size()] += matrix[i];
  }
  return sums;
}

// The states that entered each step: h, then all results but the last.
inline Doubles entering(const Doubles& first, const Doubles& all) {
  Doubles states = first;
  states.insert(states.end(), all.begin(), all.end());
  states.resize(all.size());
  return states;
}

// Throws Error(kUnsupported) where the number of steps is not known, or is 0.
inline std::int64_t steps_of(const Value& x) {
  if (is_symbolic(x.shape()[0]) || x.shape()[0] == 0) {
    throw Error(ErrorCode::kUnsupported, "recurrent layer",
                "cannot be unrolled over {} steps", to_string(x.shape()[0]))
        .hint("give the sequence a known, positive number of steps");
  }
  return x.shape()[0];
}

// Step `t` of a sequence, without its axis.
inline Value at_step(const Value& sequence, std::int64_t t) {
  const Shape& shape = sequence.shape();
  return reshape(slice_axis(sequence, 0, t, t + 1), Shape(shape.last(2)));
}

// The steps [batch, width] each as one sequence [steps, batch, width].
inline Value stack(const std::vector<Value>& steps) {
  std::vector<Value> rows;
  for (const Value& step : steps) {
    rows.push_back(reshape(step, {1, step.shape()[0], step.shape()[1]}));
  }
  return concat(rows, 0);
}

// Block `index` of columns as wide as a state.
inline Value block(const Value& columns, std::int64_t index,
                   std::int64_t hidden) {
  return slice_axis(columns, 1, index * hidden, (index + 1) * hidden);
}

// All steps of a sequence below each other.
inline Value as_rows(const Value& sequence) {
  const Shape& shape = sequence.shape();
  return reshape(sequence, {dim_multiply(shape[0], shape[1]), shape[2]});
}

// The states that entered each step.
inline std::vector<Value> entering(const Value& first, const Value& all) {
  std::vector<Value> states = {first};
  for (std::int64_t t = 0; t + 1 < all.shape()[0]; ++t) {
    states.push_back(at_step(all, t));
  }
  return states;
}

// Slopes are told by what the functions gave, which is kept anyway.
inline Value sigmoid_slope(const Value& y) { return y * (1.0 - y); }
inline Value tanh_slope(const Value& y) { return 1.0 - square(y); }

inline Value or_zeros(const Value& gradient, const Value& like) {
  return gradient.is_defined() ? gradient : zeros_like(like);
}

// The two products of each step; the gradient has twice as many.
inline double product_flops(const OpCall& call, double gates) {
  const Sizes size(call);
  return 2 * gates * static_cast<double>(size.steps * size.batch) *
         static_cast<double>(size.hidden * (size.inputs + size.hidden));
}

struct Case {
  Dim steps, batch, inputs, hidden;
};

inline std::vector<Case> cases() {
  return {{3, 2, 4, 5}, {1, 1, 3, 2}, {4, 3, 2, 1}};
}

template <OpSample (*kSample)(const Case&)>
std::vector<OpSample> samples() {
  std::vector<OpSample> all;
  for (const Case& c : cases()) all.push_back(kSample(c));
  return all;
}

}  // namespace weft::recurrent
