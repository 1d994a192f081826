// Recurrent layers as primitives over the whole sequence, so that a kernel can
// multiply all steps by the input weights at once. What the gradient needs
// (the gates after their activation, the cells) comes out beside the result.
#include "weft/ops/recurrent.h"

#include <cmath>

#include "weft/graph/gradient.h"
#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/constant.h"
#include "weft/ops/join.h"
#include "weft/ops/matmul.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/support/doubles.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

using Doubles = std::vector<double>;

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

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

void check_operand(const OpCall& call, std::size_t index,
                   const Shape& expected) {
  const TensorType type{call.input(0).dtype, expected};
  if (!(call.input(index) == type)) {
    throw call.error("{} must be {}", call.op.input_name(index),
                     to_string(type));
  }
}

Sizes checked_sizes(const OpCall& call) {
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

// Rows [m, k] times columns [k, n], added to y.
void add_product(const double* a, const double* b, double* y, Dim m, Dim k,
                 Dim n) {
  for (Dim i = 0; i < m; ++i)
    for (Dim p = 0; p < k; ++p)
      for (Dim j = 0; j < n; ++j) y[i * n + j] += a[i * k + p] * b[p * n + j];
}
// The same with the transpose of b: [n, k].
void add_product_bt(const double* a, const double* b, double* y, Dim m, Dim k,
                    Dim n) {
  for (Dim i = 0; i < m; ++i)
    for (Dim j = 0; j < n; ++j)
      for (Dim p = 0; p < k; ++p) y[i * n + j] += a[i * k + p] * b[j * k + p];
}
// The same with the transpose of a: [k, m].
void add_product_at(const double* a, const double* b, double* y, Dim m, Dim k,
                    Dim n) {
  for (Dim p = 0; p < k; ++p)
    for (Dim i = 0; i < m; ++i)
      for (Dim j = 0; j < n; ++j) y[i * n + j] += a[p * m + i] * b[p * n + j];
}

Doubles zeros(Dim count) { return Doubles(static_cast<std::size_t>(count)); }

// Row `row` of a matrix with rows of `width`.
double* row_of(Doubles& matrix, Dim row, Dim width) {
  return matrix.data() + row * width;
}

// --- LSTM ------------------------------------------------------------------

std::vector<TensorType> infer_lstm(const OpCall& call) {
  const Sizes size = checked_sizes(call);
  const Dim columns = dim_multiply(4, size.hidden);
  check_operand(call, 2, size.state());
  check_operand(call, 3, {size.inputs, columns});
  check_operand(call, 4, {size.hidden, columns});
  check_operand(call, 5, {columns});
  const DType dtype = call.input(0).dtype;
  return {{dtype, size.sequence()},
          {dtype, size.state()},
          {dtype, size.state()},
          {dtype, size.gates()},
          {dtype, size.sequence()}};
}

std::vector<TensorType> infer_lstm_gradient(const OpCall& call) {
  const Sizes size = checked_sizes(call);
  const Dim columns = dim_multiply(4, size.hidden);
  check_operand(call, 2, size.state());
  check_operand(call, 3, {size.inputs, columns});
  check_operand(call, 4, {size.hidden, columns});
  check_operand(call, 5, size.sequence());
  check_operand(call, 6, size.gates());
  check_operand(call, 7, size.sequence());
  check_operand(call, 8, size.sequence());
  check_operand(call, 9, size.state());
  check_operand(call, 10, size.state());
  const DType dtype = call.input(0).dtype;
  return {call.input(0), call.input(1), call.input(2),
          call.input(3), call.input(4), {dtype, {columns}}};
}

// c = f c' + i g and h = o tanh(c).
void lstm_reference(const OpCall& call, std::span<const TensorView> inputs,
                    std::span<const TensorView> outputs) {
  const auto [steps, batch, width, hidden] = Sizes(call);
  const Dim columns = 4 * hidden;
  Doubles x = to_doubles(inputs[0]);
  Doubles h = to_doubles(inputs[1]);
  Doubles c = to_doubles(inputs[2]);
  const Doubles w_ih = to_doubles(inputs[3]);
  const Doubles w_hh = to_doubles(inputs[4]);
  const Doubles bias = to_doubles(inputs[5]);
  Doubles y, cells;
  Doubles gates = zeros(steps * batch * columns);
  for (Dim t = 0; t < steps; ++t) {
    double* z = row_of(gates, t * batch, columns);
    add_product(row_of(x, t * batch, width), w_ih.data(), z, batch, width,
                columns);
    add_product(h.data(), w_hh.data(), z, batch, hidden, columns);
    for (Dim row = 0; row < batch; ++row, z += columns) {
      for (Dim j = 0; j < columns; ++j) {
        z[j] += bias[static_cast<std::size_t>(j)];
        z[j] = j / hidden == 2 ? std::tanh(z[j]) : sigmoid_of(z[j]);
      }
      double* cell = row_of(c, row, hidden);
      double* state = row_of(h, row, hidden);
      for (Dim j = 0; j < hidden; ++j) {
        cell[j] = z[hidden + j] * cell[j] + z[j] * z[2 * hidden + j];
        state[j] = z[3 * hidden + j] * std::tanh(cell[j]);
      }
    }
    y.insert(y.end(), h.begin(), h.end());
    cells.insert(cells.end(), c.begin(), c.end());
  }
  from_doubles(y, outputs[0]);
  from_doubles(h, outputs[1]);
  from_doubles(c, outputs[2]);
  from_doubles(gates, outputs[3]);
  from_doubles(cells, outputs[4]);
}

// The gradient of one step before the activations, into dz; dc becomes the
// gradient of the previous cell. All are rows of one example.
void lstm_step_back(const double* gates, const double* cell,
                    const double* previous_cell, const double* dh, double* dc,
                    double* dz, Dim hidden) {
  for (Dim j = 0; j < hidden; ++j) {
    const double i = gates[j];
    const double f = gates[hidden + j];
    const double g = gates[2 * hidden + j];
    const double o = gates[3 * hidden + j];
    const double tanh_c = std::tanh(cell[j]);
    const double total = dc[j] + dh[j] * o * (1 - tanh_c * tanh_c);
    dz[j] = total * g * i * (1 - i);
    dz[hidden + j] = total * previous_cell[j] * f * (1 - f);
    dz[2 * hidden + j] = total * i * (1 - g * g);
    dz[3 * hidden + j] = dh[j] * tanh_c * o * (1 - o);
    dc[j] = total * f;
  }
}

// Sums each column of [rows, columns].
Doubles column_sums(const Doubles& matrix, Dim columns) {
  Doubles sums = zeros(columns);
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    sums[i % sums.size()] += matrix[i];
  }
  return sums;
}

// The states that entered each step: h, then all results but the last.
Doubles entering(const Doubles& first, const Doubles& all) {
  Doubles states = first;
  states.insert(states.end(), all.begin(), all.end());
  states.resize(all.size());
  return states;
}

void lstm_gradient_reference(const OpCall& call,
                             std::span<const TensorView> inputs,
                             std::span<const TensorView> outputs) {
  const auto [steps, batch, width, hidden] = Sizes(call);
  const Dim columns = 4 * hidden;
  const Doubles x = to_doubles(inputs[0]);
  const Doubles w_ih = to_doubles(inputs[3]);
  const Doubles w_hh = to_doubles(inputs[4]);
  Doubles gates = to_doubles(inputs[6]);
  Doubles cells = to_doubles(inputs[7]);
  Doubles h_in = entering(to_doubles(inputs[1]), to_doubles(inputs[5]));
  Doubles c_in = entering(to_doubles(inputs[2]), cells);
  Doubles dy = to_doubles(inputs[8]);
  Doubles dh = to_doubles(inputs[9]);
  Doubles dc = to_doubles(inputs[10]);
  Doubles dz = zeros(steps * batch * columns);
  for (Dim t = steps; t-- > 0;) {
    for (Dim row = 0; row < batch; ++row) {
      const Dim at = t * batch + row;
      for (Dim j = 0; j < hidden; ++j) {
        row_of(dh, row, hidden)[j] += row_of(dy, at, hidden)[j];
      }
      lstm_step_back(row_of(gates, at, columns), row_of(cells, at, hidden),
                     row_of(c_in, at, hidden), row_of(dh, row, hidden),
                     row_of(dc, row, hidden), row_of(dz, at, columns), hidden);
    }
    dh = zeros(batch * hidden);
    add_product_bt(row_of(dz, t * batch, columns), w_hh.data(), dh.data(),
                   batch, columns, hidden);
  }
  const Dim rows = steps * batch;
  Doubles dx = zeros(rows * width);
  Doubles dw_ih = zeros(width * columns);
  Doubles dw_hh = zeros(hidden * columns);
  add_product_bt(dz.data(), w_ih.data(), dx.data(), rows, columns, width);
  add_product_at(x.data(), dz.data(), dw_ih.data(), width, rows, columns);
  add_product_at(h_in.data(), dz.data(), dw_hh.data(), hidden, rows, columns);
  from_doubles(dx, outputs[0]);
  from_doubles(dh, outputs[1]);
  from_doubles(dc, outputs[2]);
  from_doubles(dw_ih, outputs[3]);
  from_doubles(dw_hh, outputs[4]);
  from_doubles(column_sums(dz, columns), outputs[5]);
}

// --- GRU -------------------------------------------------------------------

std::vector<TensorType> infer_gru(const OpCall& call) {
  const Sizes size = checked_sizes(call);
  const Dim columns = dim_multiply(3, size.hidden);
  check_operand(call, 2, {size.inputs, columns});
  check_operand(call, 3, {size.hidden, columns});
  check_operand(call, 4, {columns});
  check_operand(call, 5, {columns});
  const DType dtype = call.input(0).dtype;
  return {
      {dtype, size.sequence()}, {dtype, size.state()}, {dtype, size.gates()}};
}

std::vector<TensorType> infer_gru_gradient(const OpCall& call) {
  const Sizes size = checked_sizes(call);
  const Dim columns = dim_multiply(3, size.hidden);
  check_operand(call, 2, {size.inputs, columns});
  check_operand(call, 3, {size.hidden, columns});
  check_operand(call, 4, size.sequence());
  check_operand(call, 5, size.gates());
  check_operand(call, 6, size.sequence());
  check_operand(call, 7, size.state());
  const TensorType bias{call.input(0).dtype, {columns}};
  return {call.input(0), call.input(1), call.input(2),
          call.input(3), bias,          bias};
}

// The gates hold reset, update, new, and h w_hn + b_hn, which the reset gate
// multiplies.
void gru_reference(const OpCall& call, std::span<const TensorView> inputs,
                   std::span<const TensorView> outputs) {
  const auto [steps, batch, width, hidden] = Sizes(call);
  const Dim columns = 3 * hidden;
  Doubles x = to_doubles(inputs[0]);
  Doubles h = to_doubles(inputs[1]);
  const Doubles w_ih = to_doubles(inputs[2]);
  const Doubles w_hh = to_doubles(inputs[3]);
  const Doubles b_ih = to_doubles(inputs[4]);
  const Doubles b_hh = to_doubles(inputs[5]);
  Doubles y;
  Doubles gates = zeros(steps * batch * 4 * hidden);
  for (Dim t = 0; t < steps; ++t) {
    Doubles from_x = zeros(batch * columns);
    Doubles from_h = zeros(batch * columns);
    add_product(row_of(x, t * batch, width), w_ih.data(), from_x.data(), batch,
                width, columns);
    add_product(h.data(), w_hh.data(), from_h.data(), batch, hidden, columns);
    for (Dim row = 0; row < batch; ++row) {
      const auto input = [&](Dim column) {
        return from_x[static_cast<std::size_t>(row * columns + column)] +
               b_ih[static_cast<std::size_t>(column)];
      };
      const auto state = [&](Dim column) {
        return from_h[static_cast<std::size_t>(row * columns + column)] +
               b_hh[static_cast<std::size_t>(column)];
      };
      double* gate = row_of(gates, t * batch + row, 4 * hidden);
      for (Dim j = 0; j < hidden; ++j) {
        const double r = sigmoid_of(input(j) + state(j));
        const double z = sigmoid_of(input(hidden + j) + state(hidden + j));
        const double product = state(2 * hidden + j);
        const double n = std::tanh(input(2 * hidden + j) + r * product);
        gate[j] = r;
        gate[hidden + j] = z;
        gate[2 * hidden + j] = n;
        gate[3 * hidden + j] = product;
        double& own = row_of(h, row, hidden)[j];
        own = (1 - z) * n + z * own;
      }
    }
    y.insert(y.end(), h.begin(), h.end());
  }
  from_doubles(y, outputs[0]);
  from_doubles(h, outputs[1]);
  from_doubles(gates, outputs[2]);
}

void gru_gradient_reference(const OpCall& call,
                            std::span<const TensorView> inputs,
                            std::span<const TensorView> outputs) {
  const auto [steps, batch, width, hidden] = Sizes(call);
  const Dim columns = 3 * hidden;
  const Doubles x = to_doubles(inputs[0]);
  const Doubles w_ih = to_doubles(inputs[2]);
  const Doubles w_hh = to_doubles(inputs[3]);
  Doubles h_in = entering(to_doubles(inputs[1]), to_doubles(inputs[4]));
  Doubles gates = to_doubles(inputs[5]);
  Doubles dy = to_doubles(inputs[6]);
  Doubles dh = to_doubles(inputs[7]);
  // Before the activations: by way of x, and by way of h.
  Doubles by_x = zeros(steps * batch * columns);
  Doubles by_h = zeros(steps * batch * columns);
  for (Dim t = steps; t-- > 0;) {
    for (Dim row = 0; row < batch; ++row) {
      const Dim at = t * batch + row;
      const double* gate = row_of(gates, at, 4 * hidden);
      double* dx_row = row_of(by_x, at, columns);
      double* dh_row = row_of(by_h, at, columns);
      for (Dim j = 0; j < hidden; ++j) {
        const double r = gate[j];
        const double z = gate[hidden + j];
        const double n = gate[2 * hidden + j];
        double& flow = row_of(dh, row, hidden)[j];
        flow += row_of(dy, at, hidden)[j];
        const double dn = flow * (1 - z) * (1 - n * n);
        dx_row[j] = dn * gate[3 * hidden + j] * r * (1 - r);
        dx_row[hidden + j] =
            flow * (row_of(h_in, at, hidden)[j] - n) * z * (1 - z);
        dx_row[2 * hidden + j] = dn;
        dh_row[j] = dx_row[j];
        dh_row[hidden + j] = dx_row[hidden + j];
        dh_row[2 * hidden + j] = dn * r;
        flow *= z;
      }
    }
    add_product_bt(row_of(by_h, t * batch, columns), w_hh.data(), dh.data(),
                   batch, columns, hidden);
  }
  const Dim rows = steps * batch;
  Doubles dx = zeros(rows * width);
  Doubles dw_ih = zeros(width * columns);
  Doubles dw_hh = zeros(hidden * columns);
  add_product_bt(by_x.data(), w_ih.data(), dx.data(), rows, columns, width);
  add_product_at(x.data(), by_x.data(), dw_ih.data(), width, rows, columns);
  add_product_at(h_in.data(), by_h.data(), dw_hh.data(), hidden, rows, columns);
  from_doubles(dx, outputs[0]);
  from_doubles(dh, outputs[1]);
  from_doubles(dw_ih, outputs[2]);
  from_doubles(dw_hh, outputs[3]);
  from_doubles(column_sums(by_x, columns), outputs[4]);
  from_doubles(column_sums(by_h, columns), outputs[5]);
}

// --- Plain ops ---------------------------------------------------------------
//
// The same four written with other ops, step by step: what higher derivatives
// are taken of, and what runs where no kernel does.

std::int64_t steps_of(const Value& x) {
  if (is_symbolic(x.shape()[0]) || x.shape()[0] == 0) {
    throw Error(ErrorCode::kUnsupported, "lstm",
                "cannot be unrolled over {} steps", to_string(x.shape()[0]))
        .hint("give the sequence a known, positive number of steps");
  }
  return x.shape()[0];
}

// Step `t` of a sequence, without its axis.
Value at_step(const Value& sequence, std::int64_t t) {
  const Shape& shape = sequence.shape();
  return reshape(slice_axis(sequence, 0, t, t + 1), Shape(shape.last(2)));
}

Value stack(const std::vector<Value>& steps) {
  std::vector<Value> rows;
  for (const Value& step : steps) {
    rows.push_back(reshape(step, {1, step.shape()[0], step.shape()[1]}));
  }
  return concat(rows, 0);
}

// Block `index` of columns as wide as a state.
Value block(const Value& columns, std::int64_t index, std::int64_t hidden) {
  return slice_axis(columns, 1, index * hidden, (index + 1) * hidden);
}

// All steps of a sequence below each other.
Value as_rows(const Value& sequence) {
  const Shape& shape = sequence.shape();
  return reshape(sequence, {dim_multiply(shape[0], shape[1]), shape[2]});
}

// The states that entered each step.
std::vector<Value> entering(const Value& first, const Value& all) {
  std::vector<Value> states = {first};
  for (std::int64_t t = 0; t + 1 < all.shape()[0]; ++t) {
    states.push_back(at_step(all, t));
  }
  return states;
}

Value sigmoid_slope(const Value& y) { return y * (1.0 - y); }
Value tanh_slope(const Value& y) { return 1.0 - square(y); }

std::vector<Value> lower_lstm(const Attributes&,
                              std::span<const Value> inputs) {
  const std::int64_t hidden = inputs[1].shape()[1];
  Value h = inputs[1];
  Value c = inputs[2];
  const Value from_x = matmul(inputs[0], inputs[3]) + inputs[5];
  std::vector<Value> y, gates, cells;
  for (std::int64_t t = 0; t < steps_of(inputs[0]); ++t) {
    const Value z = at_step(from_x, t) + matmul(h, inputs[4]);
    const Value i = sigmoid(block(z, 0, hidden));
    const Value f = sigmoid(block(z, 1, hidden));
    const Value g = tanh(block(z, 2, hidden));
    const Value o = sigmoid(block(z, 3, hidden));
    c = f * c + i * g;
    h = o * tanh(c);
    y.push_back(h);
    cells.push_back(c);
    gates.push_back(concat(std::array{i, f, g, o}, 1));
  }
  return {stack(y), h, c, stack(gates), stack(cells)};
}

std::vector<Value> lower_lstm_gradient(const Attributes&,
                                       std::span<const Value> inputs) {
  const std::int64_t hidden = inputs[1].shape()[1];
  const std::int64_t steps = steps_of(inputs[0]);
  const auto h_in = entering(inputs[1], inputs[5]);
  const auto c_in = entering(inputs[2], inputs[7]);
  Value dh = inputs[9];
  Value dc = inputs[10];
  std::vector<Value> all(static_cast<std::size_t>(steps));
  for (std::int64_t t = steps; t-- > 0;) {
    const auto step = static_cast<std::size_t>(t);
    const Value gates = at_step(inputs[6], t);
    const Value i = block(gates, 0, hidden);
    const Value f = block(gates, 1, hidden);
    const Value g = block(gates, 2, hidden);
    const Value o = block(gates, 3, hidden);
    const Value tanh_c = tanh(at_step(inputs[7], t));
    dh = dh + at_step(inputs[8], t);
    const Value total = dc + dh * o * tanh_slope(tanh_c);
    all[step] = concat(
        std::array{total * g * sigmoid_slope(i),
                   total * c_in[step] * sigmoid_slope(f),
                   total * i * tanh_slope(g), dh * tanh_c * sigmoid_slope(o)},
        1);
    dc = total * f;
    dh = matmul(all[step], inputs[4], {false, true});
  }
  const Value dz = stack(all);
  return {matmul(dz, inputs[3], {false, true}),
          dh,
          dc,
          matmul(as_rows(inputs[0]), as_rows(dz), {true, false}),
          matmul(as_rows(stack(h_in)), as_rows(dz), {true, false}),
          sum(dz, {0, 1})};
}

std::vector<Value> lower_gru(const Attributes&, std::span<const Value> inputs) {
  const std::int64_t hidden = inputs[1].shape()[1];
  Value h = inputs[1];
  const Value from_x = matmul(inputs[0], inputs[2]) + inputs[4];
  std::vector<Value> y, gates;
  for (std::int64_t t = 0; t < steps_of(inputs[0]); ++t) {
    const Value input = at_step(from_x, t);
    const Value state = matmul(h, inputs[3]) + inputs[5];
    const Value r = sigmoid(block(input, 0, hidden) + block(state, 0, hidden));
    const Value z = sigmoid(block(input, 1, hidden) + block(state, 1, hidden));
    const Value candidate = block(state, 2, hidden);
    const Value n = tanh(block(input, 2, hidden) + r * candidate);
    h = n + z * (h - n);
    y.push_back(h);
    gates.push_back(concat(std::array{r, z, n, candidate}, 1));
  }
  return {stack(y), h, stack(gates)};
}

std::vector<Value> lower_gru_gradient(const Attributes&,
                                      std::span<const Value> inputs) {
  const std::int64_t hidden = inputs[1].shape()[1];
  const std::int64_t steps = steps_of(inputs[0]);
  const auto h_in = entering(inputs[1], inputs[4]);
  Value dh = inputs[7];
  std::vector<Value> by_x(static_cast<std::size_t>(steps));
  std::vector<Value> by_h = by_x;
  for (std::int64_t t = steps; t-- > 0;) {
    const auto step = static_cast<std::size_t>(t);
    const Value gates = at_step(inputs[5], t);
    const Value r = block(gates, 0, hidden);
    const Value z = block(gates, 1, hidden);
    const Value n = block(gates, 2, hidden);
    const Value flow = dh + at_step(inputs[6], t);
    const Value dn = flow * (1.0 - z) * tanh_slope(n);
    const Value dr = dn * block(gates, 3, hidden) * sigmoid_slope(r);
    const Value dz = flow * (h_in[step] - n) * sigmoid_slope(z);
    by_x[step] = concat(std::array{dr, dz, dn}, 1);
    by_h[step] = concat(std::array{dr, dz, dn * r}, 1);
    dh = flow * z + matmul(by_h[step], inputs[3], {false, true});
  }
  const Value dx = stack(by_x);
  const Value dstate = stack(by_h);
  return {matmul(dx, inputs[2], {false, true}),
          dh,
          matmul(as_rows(inputs[0]), as_rows(dx), {true, false}),
          matmul(as_rows(stack(h_in)), as_rows(dstate), {true, false}),
          sum(dx, {0, 1}),
          sum(dstate, {0, 1})};
}

// --- Gradients -------------------------------------------------------------

Value or_zeros(const Value& gradient, const Value& like) {
  return gradient.is_defined() ? gradient : zeros_like(like);
}

// The gates and cells have a gradient only while a gradient is differentiated.
Gradients lstm_rule(const GradientContext& g) {
  if (g.dy(3).is_defined() || g.dy(4).is_defined()) return lowered_gradient(g);
  static const OpDef& op = op_registry().get("lstm_gradient");
  const std::array inputs = {g.x(0),
                             g.x(1),
                             g.x(2),
                             g.x(3),
                             g.x(4),
                             g.y(0),
                             g.y(3),
                             g.y(4),
                             or_zeros(g.dy(0), g.y(0)),
                             or_zeros(g.dy(1), g.y(1)),
                             or_zeros(g.dy(2), g.y(2))};
  return call_all(op, inputs, {}, {});
}

Gradients gru_rule(const GradientContext& g) {
  if (g.dy(2).is_defined()) return lowered_gradient(g);
  static const OpDef& op = op_registry().get("gru_gradient");
  const std::array inputs = {g.x(0),
                             g.x(1),
                             g.x(2),
                             g.x(3),
                             g.y(0),
                             g.y(2),
                             or_zeros(g.dy(0), g.y(0)),
                             or_zeros(g.dy(1), g.y(1))};
  return call_all(op, inputs, {}, {});
}

// The two products of each step; the gradient has twice as many.
double product_flops(const OpCall& call, double gates) {
  const Sizes size(call);
  return 2 * gates * static_cast<double>(size.steps * size.batch) *
         static_cast<double>(size.hidden * (size.inputs + size.hidden));
}

// --- Samples ---------------------------------------------------------------

struct Case {
  Dim steps, batch, inputs, hidden;
};

std::vector<Case> cases() { return {{3, 2, 4, 5}, {1, 1, 3, 2}, {4, 3, 2, 1}}; }

OpSample lstm_sample(const Case& c) {
  return {{floats({c.steps, c.batch, c.inputs}), floats({c.batch, c.hidden}),
           floats({c.batch, c.hidden}), floats({c.inputs, 4 * c.hidden}),
           floats({c.hidden, 4 * c.hidden}), floats({4 * c.hidden})},
          {}};
}

OpSample gru_sample(const Case& c) {
  return {{floats({c.steps, c.batch, c.inputs}), floats({c.batch, c.hidden}),
           floats({c.inputs, 3 * c.hidden}), floats({c.hidden, 3 * c.hidden}),
           floats({3 * c.hidden}), floats({3 * c.hidden})},
          {}};
}

OpSample lstm_gradient_sample(const Case& c) {
  const Shape state = {c.batch, c.hidden};
  const Shape sequence = {c.steps, c.batch, c.hidden};
  return {{floats({c.steps, c.batch, c.inputs}), floats(state), floats(state),
           floats({c.inputs, 4 * c.hidden}), floats({c.hidden, 4 * c.hidden}),
           floats(sequence), floats({c.steps, c.batch, 4 * c.hidden}, 0, 1),
           floats(sequence), floats(sequence), floats(state), floats(state)},
          {}};
}

OpSample gru_gradient_sample(const Case& c) {
  const Shape state = {c.batch, c.hidden};
  const Shape sequence = {c.steps, c.batch, c.hidden};
  return {{floats({c.steps, c.batch, c.inputs}), floats(state),
           floats({c.inputs, 3 * c.hidden}), floats({c.hidden, 3 * c.hidden}),
           floats(sequence), floats({c.steps, c.batch, 4 * c.hidden}, 0, 1),
           floats(sequence), floats(state)},
          {}};
}

template <OpSample (*kSample)(const Case&)>
std::vector<OpSample> samples() {
  std::vector<OpSample> all;
  for (const Case& c : cases()) all.push_back(kSample(c));
  return all;
}

}  // namespace

void register_recurrent(OpRegistry& ops) {
  ops.add("lstm")
      .summary("a long short-term memory layer over a whole sequence")
      .signature(
          "(x, h, c, w_ih, w_hh, bias) -> y, h_last, c_last, gates, "
          "cells")
      .infer(infer_lstm)
      .reference(lstm_reference)
      .lower(lower_lstm)
      .gradient(lstm_rule)
      .cost([](const OpCall& call) {
        return Cost::of(call, product_flops(call, 4));
      })
      .samples(samples<lstm_sample>);
  ops.add("lstm_gradient")
      .summary("the gradients of lstm's six operands")
      .signature(
          "(x, h, c, w_ih, w_hh, y, gates, cells, dy, dh_last, dc_last) "
          "-> dx, dh, dc, dw_ih, dw_hh, dbias")
      .infer(infer_lstm_gradient)
      .reference(lstm_gradient_reference)
      .lower(lower_lstm_gradient)
      .gradient(lowered_gradient)
      .cost([](const OpCall& call) {
        return Cost::of(call, 2 * product_flops(call, 4));
      })
      .samples(samples<lstm_gradient_sample>);
  ops.add("gru")
      .summary("a gated recurrent unit over a whole sequence")
      .signature("(x, h, w_ih, w_hh, b_ih, b_hh) -> y, h_last, gates")
      .infer(infer_gru)
      .reference(gru_reference)
      .lower(lower_gru)
      .gradient(gru_rule)
      .cost([](const OpCall& call) {
        return Cost::of(call, product_flops(call, 3));
      })
      .samples(samples<gru_sample>);
  ops.add("gru_gradient")
      .summary("the gradients of gru's six operands")
      .signature(
          "(x, h, w_ih, w_hh, y, gates, dy, dh_last) -> dx, dh, dw_ih, "
          "dw_hh, db_ih, db_hh")
      .infer(infer_gru_gradient)
      .reference(gru_gradient_reference)
      .lower(lower_gru_gradient)
      .gradient(lowered_gradient)
      .cost([](const OpCall& call) {
        return Cost::of(call, 2 * product_flops(call, 3));
      })
      .samples(samples<gru_gradient_sample>);
}

std::array<Value, 3> lstm(const Operand& x, const Operand& h, const Operand& c,
                          const Operand& w_ih, const Operand& w_hh,
                          const Operand& bias) {
  static const OpDef& op = op_registry().get("lstm");
  const std::array inputs = {*x.value,    *h.value,    *c.value,
                             *w_ih.value, *w_hh.value, *bias.value};
  auto result = call_all(op, inputs, {}, x.location);
  return {std::move(result[0]), std::move(result[1]), std::move(result[2])};
}

std::array<Value, 2> gru(const Operand& x, const Operand& h,
                         const Operand& w_ih, const Operand& w_hh,
                         const Operand& b_ih, const Operand& b_hh) {
  static const OpDef& op = op_registry().get("gru");
  const std::array inputs = {*x.value,    *h.value,    *w_ih.value,
                             *w_hh.value, *b_ih.value, *b_hh.value};
  auto result = call_all(op, inputs, {}, x.location);
  return {std::move(result[0]), std::move(result[1])};
}

}  // namespace weft
