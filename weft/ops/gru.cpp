// GRU as a primitive over the whole sequence, so that a kernel can multiply all
// steps by the input weights at once. What the gradient needs (the gates after
// their activation) comes out beside the result.
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

std::vector<TensorType> infer_gru(const OpCall& call) {
  const Sizes size = checked_sizes(call);
  check_weights(call);
  const Dim columns = dim_multiply(3, size.hidden);
  check_operand(call, 2, {size.inputs, columns});
  check_operand(call, 3, {size.hidden, columns});
  check_operand(call, 4, {columns});
  check_operand(call, 5, {columns});
  const DType dtype = call.input(0).dtype;
  // The gates take four blocks where the weights have three: the product h w_hn
  // + b_hn is kept too, as dr needs it and n does not tell it.
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

// With r and z the reset and update gates (Cho et al., 2014, eq. 5 to 8; the
// reset gate acts after the product, as in cuDNN):
//   r  = σ(x w_ir + b_ir + h w_hr + b_hr)
//   z  = σ(x w_iz + b_iz + h w_hz + b_hz)
//   n  = tanh(x w_in + b_in + r (h w_hn + b_hn))
//   h' = (1 - z) n + z h
//
// The gates hold r, z, n, and h w_hn + b_hn, which the reset gate multiplies.
void gru_reference(const OpCall& call, std::span<const TensorView> inputs,
                   std::span<const TensorView> outputs) {
  const auto [steps, batch, width, hidden] = Sizes(call);
  const Dim columns = 3 * hidden;
  const DType weights = weights_dtype(call.attributes);
  Doubles x = rounded_rows(to_doubles(inputs[0]), width, weights);
  Doubles h = to_doubles(inputs[1]);
  const Doubles w_ih = rounded_columns(to_doubles(inputs[2]), columns, weights);
  const Doubles w_hh = rounded_columns(to_doubles(inputs[3]), columns, weights);
  const Doubles b_ih = to_doubles(inputs[4]);
  const Doubles b_hh = to_doubles(inputs[5]);
  Doubles y;
  Doubles gates = zeros(steps * batch * 4 * hidden);
  for (Dim t = 0; t < steps; ++t) {
    Doubles from_x = zeros(batch * columns);
    // The two products are kept apart, as the reset gate multiplies only a part
    // of the second.
    Doubles from_h = zeros(batch * columns);
    add_product(row_of(x, t * batch, width), w_ih.data(), from_x.data(), batch,
                width, columns);
    add_product(rounded_rows(h, hidden, weights).data(), w_hh.data(),
                from_h.data(), batch, hidden, columns);
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
        // The state is replaced in place: every product with the old one was
        // made above.
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
  // These are the gradients before the activations, by way of x and by way of
  // h. They differ in the block of n alone, where h comes in times r.
  Doubles by_x = zeros(steps * batch * columns);
  Doubles by_h = zeros(steps * batch * columns);
  // Steps run in reverse: what reaches a state comes from its own result, and
  // from the step after it.
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
        // flow is dL/dh' of this step, from here on.
        flow += row_of(dy, at, hidden)[j];
        // dn is before the tanh: dh'/dn = 1 - z, and tanh' = 1 - n².
        const double dn = flow * (1 - z) * (1 - n * n);
        // The gate r reaches n through the product that it multiplies.
        dx_row[j] = dn * gate[3 * hidden + j] * r * (1 - r);
        // The derivative of (1 - z) n + z h in z is h - n.
        dx_row[hidden + j] =
            flow * (row_of(h_in, at, hidden)[j] - n) * z * (1 - z);
        dx_row[2 * hidden + j] = dn;
        dh_row[j] = dx_row[j];
        dh_row[hidden + j] = dx_row[hidden + j];
        dh_row[2 * hidden + j] = dn * r;
        // This part goes straight on to the state before; the rest goes by way
        // of the gates, below.
        flow *= z;
      }
    }
    add_product_bt(row_of(by_h, t * batch, columns), w_hh.data(), dh.data(),
                   batch, columns, hidden);
  }
  // The weights serve all steps, so their gradients are sums over steps; with
  // the steps below each other, each sum is one product.
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
  // The two biases act at different places around the reset gate, so their
  // gradients differ in the block of n.
  from_doubles(column_sums(by_x, columns), outputs[4]);
  from_doubles(column_sums(by_h, columns), outputs[5]);
}

// The same two written with other ops, step by step: what higher derivatives
// are taken of, and what runs where no kernel does.
std::vector<Value> lower_gru(const Attributes& attributes,
                             std::span<const Value> inputs) {
  require_f32_weights(attributes, "gru");
  const std::int64_t hidden = inputs[1].shape()[1];
  Value h = inputs[1];
  // The input's product does not depend on the state: it is one product over
  // all steps.
  const Value from_x = matmul(inputs[0], inputs[2]) + inputs[4];
  std::vector<Value> y, gates;
  // steps_of() refuses a symbolic number of steps: the loop is unrolled here.
  for (std::int64_t t = 0; t < steps_of(inputs[0]); ++t) {
    const Value input = at_step(from_x, t);
    const Value state = matmul(h, inputs[3]) + inputs[5];
    const Value r = sigmoid(block(input, 0, hidden) + block(state, 0, hidden));
    const Value z = sigmoid(block(input, 1, hidden) + block(state, 1, hidden));
    const Value candidate = block(state, 2, hidden);
    const Value n = tanh(block(input, 2, hidden) + r * candidate);
    // This is (1 - z) n + z h with one product less.
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
    // The lines are those of gru_gradient_reference(), for all rows at once.
    const Value flow = dh + at_step(inputs[6], t);
    const Value dn = flow * (1.0 - z) * tanh_slope(n);
    const Value dr = dn * block(gates, 3, hidden) * sigmoid_slope(r);
    const Value dz = flow * (h_in[step] - n) * sigmoid_slope(z);
    by_x[step] = concat(std::array{dr, dz, dn}, 1);
    by_h[step] = concat(std::array{dr, dz, dn * r}, 1);
    // The state acts directly, times z, and through all gates by w_hh.
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

Gradients gru_rule(const GradientContext& g) {
  require_f32_weights(g.attributes(), "gru");
  // The gates have a gradient only while a gradient is differentiated.
  // gru_gradient takes none for them, so the plain form is differentiated then.
  if (g.dy(2).is_defined()) return lowered_gradient(g);
  static const OpDef& op = op_registry().get("gru_gradient");
  // A program may use all states or only the last one; the op takes both
  // gradients, and zeros stand for the one that nothing flowed into.
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

OpSample gru_sample(const Case& c) {
  return {{floats({c.steps, c.batch, c.inputs}), floats({c.batch, c.hidden}),
           floats({c.inputs, 3 * c.hidden}), floats({c.hidden, 3 * c.hidden}),
           floats({3 * c.hidden}), floats({3 * c.hidden})},
          {}};
}

// Gates lie between 0 and 1, as the sigmoids made them.
OpSample gru_gradient_sample(const Case& c) {
  const Shape state = {c.batch, c.hidden};
  const Shape sequence = {c.steps, c.batch, c.hidden};
  return {{floats({c.steps, c.batch, c.inputs}), floats(state),
           floats({c.inputs, 3 * c.hidden}), floats({c.hidden, 3 * c.hidden}),
           floats(sequence), floats({c.steps, c.batch, 4 * c.hidden}, 0, 1),
           floats(sequence), floats(state)},
          {}};
}

// ONNX's gates are update, reset, new.
void export_gru(OnnxContext& c) {
  check_onnx_layer(c, 2);
  const Dim hidden = c.type(1).shape.back();
  if (is_symbolic(hidden)) throw c.unsupported("a state of unknown size");
  const std::vector<int> order = {1, 0, 2};
  const std::string bias =
      c.emit("Concat", {onnx_gates(c, 4, order), onnx_gates(c, 5, order)},
             {{"axis", std::int64_t{1}}});
  const auto results =
      c.emit("GRU",
             {c.x(0), onnx_gates(c, 2, order), onnx_gates(c, 3, order), bias,
              "", onnx_state(c, 1)},
             {{"hidden_size", std::int64_t{hidden}},
              {"linear_before_reset", std::int64_t{1}}},
             2);
  c.set(0, c.emit("Squeeze", {results[0], c.list({1})}));
  c.set(1, c.emit("Squeeze", {results[1], c.list({0})}));
}

}  // namespace

void register_gru(OpRegistry& ops) {
  ops.add("gru")
      .summary("a gated recurrent unit over a whole sequence")
      .signature("(x, h, w_ih, w_hh, b_ih, b_hh) -> y, h_last, gates")
      .attribute(kWeights, DType::kF32)
      .infer(infer_gru)
      .reference(gru_reference)
      .lower(lower_gru)
      .gradient(gru_rule)
      .onnx(export_gru)
      // Three gates take a product with x and one with h each.
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

std::array<Value, 2> gru(const Operand& x, const Operand& h,
                         const Operand& w_ih, const Operand& w_hh,
                         const Operand& b_ih, const Operand& b_hh,
                         DType weights) {
  static const OpDef& op = op_registry().get("gru");
  const std::array inputs = {*x.value,    *h.value,    *w_ih.value,
                             *w_hh.value, *b_ih.value, *b_hh.value};
  // The gates are there for the gradient, and no caller's.
  auto result = call_all(op, inputs, {{kWeights, weights}}, x.location);
  return {std::move(result[0]), std::move(result[1])};
}

}  // namespace weft
