// LSTM as a primitive over the whole sequence, so that a kernel can multiply
// all steps by the input weights at once. What the gradient needs (the gates
// after their activation, the cells) comes out beside the result.
#include <cmath>

#include "weft/graph/gradient.h"
#include "weft/graph/registry.h"
#include "weft/ops/matmul.h"
#include "weft/ops/recurrent.h"
#include "weft/ops/reduce.h"
#include "weft/ops/support/doubles.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/recurrent.h"

namespace weft {
namespace {

using namespace recurrent;  // NOLINT: this file's own support

std::vector<TensorType> infer_lstm(const OpCall& call) {
  const Sizes size = checked_sizes(call);
  check_weights(call);
  const Dim columns = dim_multiply(4, size.hidden);
  check_operand(call, 2, size.state());
  check_operand(call, 3, {size.inputs, columns});
  check_operand(call, 4, {size.hidden, columns});
  check_operand(call, 5, {columns});
  const DType dtype = call.input(0).dtype;
  // The gates and cells are results too: from them the gradient runs without
  // computing a step again.
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

// With the gates in the blocks i, f, g, o of z = x w_ih + h w_hh + b
// (Hochreiter and Schmidhuber, 1997; f by Gers, 2000), i, f and o by σ and g by
// tanh:
//   c = f c' + i g
//   h = o tanh(c)
void lstm_reference(const OpCall& call, std::span<const TensorView> inputs,
                    std::span<const TensorView> outputs) {
  const auto [steps, batch, width, hidden] = Sizes(call);
  const Dim columns = 4 * hidden;
  const DType weights = weights_dtype(call.attributes);
  Doubles x = rounded_rows(to_doubles(inputs[0]), width, weights);
  Doubles h = to_doubles(inputs[1]);
  Doubles c = to_doubles(inputs[2]);
  const Doubles w_ih = rounded_columns(to_doubles(inputs[3]), columns, weights);
  const Doubles w_hh = rounded_columns(to_doubles(inputs[4]), columns, weights);
  const Doubles bias = to_doubles(inputs[5]);
  Doubles y, cells;
  Doubles gates = zeros(steps * batch * columns);
  for (Dim t = 0; t < steps; ++t) {
    // The gates are computed where they are returned.
    double* z = row_of(gates, t * batch, columns);
    add_product(row_of(x, t * batch, width), w_ih.data(), z, batch, width,
                columns);
    add_product(rounded_rows(h, hidden, weights).data(), w_hh.data(), z, batch,
                hidden, columns);
    for (Dim row = 0; row < batch; ++row, z += columns) {
      for (Dim j = 0; j < columns; ++j) {
        z[j] += bias[static_cast<std::size_t>(j)];
        // The blocks are i, f, g, o, of which g alone is a tanh.
        z[j] = j / hidden == 2 ? std::tanh(z[j]) : sigmoid_of(z[j]);
      }
      double* cell = row_of(c, row, hidden);
      double* state = row_of(h, row, hidden);
      for (Dim j = 0; j < hidden; ++j) {
        // The cell still holds c' on the right.
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
// gradient of the previous cell. All are rows of one example. With
//   δ = dc + dh o (1 - tanh²(c)),
// which is all that reaches the cell:
//   di = δ g i (1 - i),  df = δ c' f (1 - f),  dg = δ i (1 - g²),
//   do = dh tanh(c) o (1 - o),  dc' = δ f
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
  // Cells need not be computed again, as the forward op returned them.
  Doubles c_in = entering(to_doubles(inputs[2]), cells);
  Doubles dy = to_doubles(inputs[8]);
  Doubles dh = to_doubles(inputs[9]);
  Doubles dc = to_doubles(inputs[10]);
  Doubles dz = zeros(steps * batch * columns);
  for (Dim t = steps; t-- > 0;) {
    for (Dim row = 0; row < batch; ++row) {
      const Dim at = t * batch + row;
      for (Dim j = 0; j < hidden; ++j) {
        // A state has its gradient from its own result, and, in dh, from the
        // steps after it.
        row_of(dh, row, hidden)[j] += row_of(dy, at, hidden)[j];
      }
      lstm_step_back(row_of(gates, at, columns), row_of(cells, at, hidden),
                     row_of(c_in, at, hidden), row_of(dh, row, hidden),
                     row_of(dc, row, hidden), row_of(dz, at, columns), hidden);
    }
    // A state acts on the step before through the gates alone.
    dh = zeros(batch * hidden);
    add_product_bt(row_of(dz, t * batch, columns), w_hh.data(), dh.data(),
                   batch, columns, hidden);
  }
  // With all steps below each other, a sum over steps is one product: dw_ih = Σ
  // xᵀ dz, dw_hh = Σ hᵀ dz.
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

// The same two written with other ops, step by step: what higher derivatives
// are taken of, and what runs where no kernel does.
std::vector<Value> lower_lstm(const Attributes& attributes,
                              std::span<const Value> inputs) {
  require_f32_weights(attributes, "lstm");
  const std::int64_t hidden = inputs[1].shape()[1];
  Value h = inputs[1];
  Value c = inputs[2];
  // The input's product does not depend on the state: it is one product over
  // all steps, and the bias is added once to all of them.
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
  // The lines are those of lstm_step_back(), for all rows at once.
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

// The gates and cells have a gradient only while a gradient is differentiated.
Gradients lstm_rule(const GradientContext& g) {
  require_f32_weights(g.attributes(), "lstm");
  if (g.dy(3).is_defined() || g.dy(4).is_defined()) return lowered_gradient(g);
  static const OpDef& op = op_registry().get("lstm_gradient");
  // Zeros stand for results that no gradient came back from: the op takes those
  // of all three.
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

OpSample lstm_sample(const Case& c) {
  return {{floats({c.steps, c.batch, c.inputs}), floats({c.batch, c.hidden}),
           floats({c.batch, c.hidden}), floats({c.inputs, 4 * c.hidden}),
           floats({c.hidden, 4 * c.hidden}), floats({4 * c.hidden})},
          {}};
}

// Gates lie between 0 and 1 here, as σ makes them; g may be any number.
OpSample lstm_gradient_sample(const Case& c) {
  const Shape state = {c.batch, c.hidden};
  const Shape sequence = {c.steps, c.batch, c.hidden};
  return {{floats({c.steps, c.batch, c.inputs}), floats(state), floats(state),
           floats({c.inputs, 4 * c.hidden}), floats({c.hidden, 4 * c.hidden}),
           floats(sequence), floats({c.steps, c.batch, 4 * c.hidden}, 0, 1),
           floats(sequence), floats(sequence), floats(state), floats(state)},
          {}};
}

// ONNX's gates are input, output, forget, cell, with two biases.
void export_lstm(OnnxContext& c) {
  check_onnx_layer(c, 3);
  const Dim hidden = c.type(1).shape.back();
  if (is_symbolic(hidden)) throw c.unsupported("a state of unknown size");
  const std::vector<int> order = {0, 3, 1, 2};
  const Tensor none = Tensor::zeros({c.type(0).dtype, {1, 4 * hidden}});
  const std::string bias =
      c.emit("Concat", {onnx_gates(c, 5, order), c.constant(none)},
             {{"axis", std::int64_t{1}}});
  const auto results =
      c.emit("LSTM",
             {c.x(0), onnx_gates(c, 3, order), onnx_gates(c, 4, order), bias,
              "", onnx_state(c, 1), onnx_state(c, 2)},
             {{"hidden_size", std::int64_t{hidden}}}, 3);
  c.set(0, c.emit("Squeeze", {results[0], c.list({1})}));
  c.set(1, c.emit("Squeeze", {results[1], c.list({0})}));
  c.set(2, c.emit("Squeeze", {results[2], c.list({0})}));
}

}  // namespace

void register_lstm(OpRegistry& ops) {
  ops.add("lstm")
      .summary("a long short-term memory layer over a whole sequence")
      .signature(
          "(x, h, c, w_ih, w_hh, bias) -> y, h_last, c_last, gates, "
          "cells")
      .attribute(kWeights, DType::kF32)
      .infer(infer_lstm)
      .reference(lstm_reference)
      .lower(lower_lstm)
      .gradient(lstm_rule)
      .onnx(export_lstm)
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
        // The gradient has the transposes of both products, in the data and in
        // the weights.
        return Cost::of(call, 2 * product_flops(call, 4));
      })
      .samples(samples<lstm_gradient_sample>);
}

std::array<Value, 3> lstm(const Operand& x, const Operand& h, const Operand& c,
                          const Operand& w_ih, const Operand& w_hh,
                          const Operand& bias, DType weights) {
  static const OpDef& op = op_registry().get("lstm");
  const std::array inputs = {*x.value,    *h.value,    *c.value,
                             *w_ih.value, *w_hh.value, *bias.value};
  auto result = call_all(op, inputs, {{kWeights, weights}}, x.location);
  // Gates and cells are there for the gradient, and no caller's.
  return {std::move(result[0]), std::move(result[1]), std::move(result[2])};
}

}  // namespace weft
