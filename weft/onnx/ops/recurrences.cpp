// RNN, GRU and LSTM. Layers of the usual form are the engine's own ops; others
// (peepholes, clipping, other activations, sequences of different lengths, the
// reset gate before the product) are a scan over the steps.
#include <algorithm>
#include <functional>

#include "weft/base/index.h"
#include "weft/onnx/elementwise.h"
#include "weft/onnx/named_activation.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/control.h"
#include "weft/ops/join.h"
#include "weft/ops/matmul.h"
#include "weft/ops/pick.h"
#include "weft/ops/recurrent.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/unary.h"

namespace weft::onnx {
namespace {

// A layer in one direction.
struct Direction {
  Value w;  // [gates * hidden, inputs], and so on, as ONNX has them
  Value r;
  Value bias_w;
  Value bias_r;
  Value h;
  Value c;
  Value peepholes;  // undefined: none
  std::vector<Activation> activations;
  bool is_usual = true;  // the activations are those of the usual form
};

// What all directions share. Steps come first: [steps, batch, inputs].
struct Layer {
  Value x;
  std::int64_t hidden = 0;
  Dim batch = 0;
  std::vector<Direction> directions;
  std::vector<bool> is_reverse;
  double clip = 0;  // 0: none
  Value lengths;    // undefined: all steps count
  bool has_batch_first = false;
};

// One of the directions of an operand, without that axis.
Value of_direction(const OnnxNode& node, std::size_t operand, std::size_t d) {
  const OnnxValue& value = node.operand(operand);
  const ContextScope scope(value.is_known() ? eager_context()
                                            : current_context());
  const Value all = value.plain();
  const auto at = static_cast<std::int64_t>(d);
  return reshape(slice_axis(all, 0, at, at + 1),
                 Shape(all.shape().last(all.shape().rank() - 1)));
}

// Rows of `gates` blocks in another order, transposed: [inputs, gates *
// hidden].
Value gates_reordered(const Value& w, const std::vector<int>& order,
                      std::int64_t hidden) {
  const ContextScope scope(w.is_staged() ? current_context() : eager_context());
  std::vector<Value> blocks;
  for (const int gate : order) {
    blocks.push_back(slice_axis(w, 0, gate * hidden, (gate + 1) * hidden));
  }
  const Value all = concat(blocks, 0);
  return all.shape().rank() == 2 ? transpose(all) : all;
}

bool is_all_zero(const Value& x) {
  if (x.is_staged()) return false;
  for (std::int64_t i = 0; i < x.tensor().size(); ++i) {
    if (x.tensor().item(i) != 0) return false;
  }
  return true;
}

// Whether every sequence has all the steps.
bool are_whole(const Value& lengths, Dim steps) {
  if (lengths.is_staged()) return false;
  for (std::int64_t i = 0; i < lengths.tensor().size(); ++i) {
    if (lengths.tensor().item(i) != static_cast<double>(steps)) return false;
  }
  return true;
}

// What is there in all directions alike.
Layer empty_layer(const OnnxNode& node) {
  Layer layer;
  layer.has_batch_first = node.integer("layout", 0) != 0;
  layer.x = layer.has_batch_first ? transpose(node.input(0), {1, 0, 2})
                                  : node.input(0);
  const Shape weights = node.operand(2).type().shape;
  if (layer.x.shape().rank() != 3 || weights.rank() != 3 ||
      is_symbolic(weights[2])) {
    throw node.damaged("a sequence {} with weights {}",
                       to_string(layer.x.shape()), to_string(weights));
  }
  layer.hidden = weights[2];
  layer.batch = layer.x.shape()[1];
  layer.clip = node.real("clip", 0);
  if (node.has(4) && !are_whole(node.input(4), layer.x.shape()[0])) {
    layer.lengths = to_dtype(node.input(4), DType::kI64);
  }
  return layer;
}

// The state that a direction starts from, or zeros.
Value first_state(const OnnxNode& node, const Layer& layer, std::size_t operand,
                  std::size_t d) {
  const TensorType state{layer.x.dtype(), {layer.batch, layer.hidden}};
  if (!node.has(operand)) return full(state, 0);
  if (!layer.has_batch_first) return of_direction(node, operand, d);
  const Value turned = transpose(node.input(operand), {1, 0, 2});
  const auto at = static_cast<std::int64_t>(d);
  return reshape(slice_axis(turned, 0, at, at + 1), state.shape);
}

// Its weights, biases and first states.
Direction direction_of(const OnnxNode& node, const Layer& layer,
                       std::int64_t gates, bool has_cells, std::size_t d) {
  Direction one;
  one.w = of_direction(node, 1, d);
  one.r = of_direction(node, 2, d);
  const std::int64_t middle = gates * layer.hidden;
  one.bias_w = one.bias_r = Value(Tensor::zeros({layer.x.dtype(), {middle}}));
  if (node.has(3)) {
    const Value both = of_direction(node, 3, d);
    const ContextScope scope(both.is_staged() ? current_context()
                                              : eager_context());
    one.bias_w = slice_axis(both, 0, 0, middle);
    one.bias_r = slice_axis(both, 0, middle, 2 * middle);
  }
  one.h = first_state(node, layer, 5, d);
  if (has_cells) one.c = first_state(node, layer, 6, d);
  if (has_cells && node.has(7)) {
    one.peepholes = of_direction(node, 7, d);
    if (is_all_zero(one.peepholes)) one.peepholes = Value();
  }
  return one;
}

Layer layer_of(const OnnxNode& node, std::int64_t gates,
               const std::vector<std::string>& usual, bool has_cells) {
  Layer layer = empty_layer(node);
  const std::string direction = node.text("direction", "forward");
  const bool is_both = direction == "bidirectional";
  if (!is_both && direction != "forward" && direction != "reverse") {
    throw node.damaged("there is no direction '{}'", direction);
  }
  const std::size_t count = is_both ? 2 : 1;
  const auto names = node.texts("activations");
  ActivationNumbers numbers(node);
  if (!names.empty() && names.size() != count * usual.size()) {
    throw node.damaged("{} activations", names.size());
  }
  for (std::size_t d = 0; d < count; ++d) {
    Direction one = direction_of(node, layer, gates, has_cells, d);
    for (std::size_t i = 0; i < usual.size(); ++i) {
      const std::size_t at = d * usual.size() + i;
      const std::string name = names.empty() ? usual[i] : names[at];
      one.activations.push_back(activation_named(node, name, numbers));
      one.is_usual = one.is_usual && name == usual[i];
    }
    layer.directions.push_back(std::move(one));
    layer.is_reverse.push_back(direction == "reverse" || d == 1);
  }
  return layer;
}

// Each sequence from its own end to its beginning.
Value turned_around(const Layer& layer, const Value& x) {
  if (!layer.lengths.is_defined()) return reverse(x, {0});
  const Shape& s = x.shape();
  const Value step = reshape(iota(s[0]), {s[0], 1, 1});
  const Value length = reshape(layer.lengths, {1, s[1], 1});
  const Value from = where(less(step, length), length - 1 - step, step);
  return pick(x, broadcast_to(from, s), 0);
}

// One step: the states that it makes of those before and of x.
using Cell = std::function<std::vector<Value>(
    const Value& x, const std::vector<Value>& states)>;

// All hidden states, then the last states. Beyond the end of a sequence its
// states stay, and what it returns is 0.
std::vector<Value> scanned(const Layer& layer, const Value& x,
                           std::vector<Value> states, const Cell& cell) {
  const std::size_t count = states.size();
  std::vector<Value> inputs = {x};
  if (layer.lengths.is_defined()) inputs.push_back(iota(x.shape()[0]));
  auto results = scan(
      std::move(states), inputs,
      [&](const std::vector<Value>& before, const std::vector<Value>& now) {
        std::vector<Value> next = cell(now[0], before);
        Value y = next[0];
        if (layer.lengths.is_defined()) {
          const Value goes_on =
              less(now[1], reshape(layer.lengths, {layer.batch, 1}));
          for (std::size_t i = 0; i < count; ++i) {
            next[i] = where(goes_on, next[i], before[i]);
          }
          y = where(goes_on, y, scalar_like(y, 0));
        }
        next.push_back(y);
        return next;
      });
  std::rotate(results.begin(), results.end() - 1, results.end());
  return results;
}

Value clipped(const Layer& layer, const Value& x) {
  return layer.clip > 0 ? clamp(x, -layer.clip, layer.clip) : x;
}

// The results of all directions side by side, in ONNX's order of axes.
void set_directions(OnnxNode& node, const Layer& layer,
                    std::vector<std::vector<Value>> made) {
  const std::size_t results = made[0].size();
  for (std::size_t i = 0; i < results; ++i) {
    std::vector<Value> parts;
    for (auto& each : made) {
      const Shape& s = each[i].shape();
      // [steps, batch, hidden] with directions behind the steps; states with
      // directions in front.
      parts.push_back(reshape(
          each[i], i == 0 ? Shape{s[0], 1, s[1], s[2]} : Shape{1, s[0], s[1]}));
    }
    Value all = concat(parts, i == 0 ? 1 : 0);
    if (layer.has_batch_first) {
      all = transpose(all, i == 0 ? Integers{2, 0, 1, 3} : Integers{1, 0, 2});
    }
    node.set(i, all);
  }
}

template <class Run>
void run_directions(OnnxNode& node, const Layer& layer, Run&& run) {
  std::vector<std::vector<Value>> made;
  for (std::size_t d = 0; d < layer.directions.size(); ++d) {
    const bool is_reverse = layer.is_reverse[d];
    const Value x = is_reverse ? turned_around(layer, layer.x) : layer.x;
    auto results = run(layer.directions[d], x);
    if (is_reverse) results[0] = turned_around(layer, results[0]);
    made.push_back(std::move(results));
  }
  set_directions(node, layer, std::move(made));
}

// x wᵀ + b for all steps at once.
Value input_products(const Value& x, const Value& w, const Value& bias) {
  return matmul(x, w, {.transpose_b = true}) + bias;
}

std::vector<Value> in_gates(const Value& x, std::int64_t hidden,
                            std::int64_t gates) {
  return split(x, Integers(at(gates), hidden), -1);
}

void import_rnn(OnnxNode& node) {
  const Layer layer = layer_of(node, 1, {"Tanh"}, false);
  run_directions(node, layer, [&](const Direction& d, const Value& x) {
    const Value inputs = input_products(x, d.w, d.bias_w + d.bias_r);
    return scanned(layer, inputs, {d.h},
                   [&](const Value& now, const std::vector<Value>& states) {
                     const Value sum =
                         now + matmul(states[0], d.r, {.transpose_b = true});
                     return std::vector{d.activations[0](clipped(layer, sum))};
                   });
  });
}

// ONNX's gates are update, reset, new; the engine's reset, update, new.
void import_gru(OnnxNode& node) {
  const Layer layer = layer_of(node, 3, {"Sigmoid", "Tanh"}, false);
  const bool is_linear = node.integer("linear_before_reset", 0) != 0;
  const std::int64_t hidden = layer.hidden;
  run_directions(node, layer, [&](const Direction& d, const Value& x) {
    const bool is_usual = d.is_usual && is_linear && layer.clip == 0 &&
                          !layer.lengths.is_defined();
    if (is_usual) {
      const std::vector<int> order = {1, 0, 2};
      const auto [y, last] = gru(x, d.h, gates_reordered(d.w, order, hidden),
                                 gates_reordered(d.r, order, hidden),
                                 gates_reordered(d.bias_w, order, hidden),
                                 gates_reordered(d.bias_r, order, hidden));
      return std::vector{y, last};
    }
    const Value inputs = input_products(x, d.w, d.bias_w);
    const Value r_gates = slice_axis(d.r, 0, 0, 2 * hidden);
    const Value r_new = slice_axis(d.r, 0, 2 * hidden, 3 * hidden);
    const Value b_gates = slice_axis(d.bias_r, 0, 0, 2 * hidden);
    const Value b_new = slice_axis(d.bias_r, 0, 2 * hidden, 3 * hidden);
    return scanned(
        layer, inputs, {d.h},
        [&](const Value& now, const std::vector<Value>& states) {
          const Value& h = states[0];
          const auto in = in_gates(now, hidden, 3);
          const auto back = in_gates(
              matmul(h, r_gates, {.transpose_b = true}) + b_gates, hidden, 2);
          const Value z = d.activations[0](clipped(layer, in[0] + back[0]));
          const Value r = d.activations[0](clipped(layer, in[1] + back[1]));
          const Value inner =
              is_linear ? r * (matmul(h, r_new, {.transpose_b = true}) + b_new)
                        : matmul(r * h, r_new, {.transpose_b = true}) + b_new;
          const Value n = d.activations[1](clipped(layer, in[2] + inner));
          return std::vector{(1 - z) * n + z * h};
        });
  });
}

// ONNX's gates are input, output, forget, cell; the engine's input, forget,
// cell, output.
void import_lstm(OnnxNode& node) {
  const Layer layer = layer_of(node, 4, {"Sigmoid", "Tanh", "Tanh"}, true);
  const bool couples = node.integer("input_forget", 0) != 0;
  const std::int64_t hidden = layer.hidden;
  run_directions(node, layer, [&](const Direction& d, const Value& x) {
    const bool is_usual = d.is_usual && !couples && layer.clip == 0 &&
                          !layer.lengths.is_defined() &&
                          !d.peepholes.is_defined();
    Value bias;
    {
      const bool is_known = !d.bias_w.is_staged() && !d.bias_r.is_staged();
      const ContextScope scope(is_known ? eager_context() : current_context());
      bias = d.bias_w + d.bias_r;
    }
    if (is_usual) {
      const std::vector<int> order = {0, 2, 3, 1};
      const auto [y, h, c] =
          lstm(x, d.h, d.c, gates_reordered(d.w, order, hidden),
               gates_reordered(d.r, order, hidden),
               gates_reordered(bias, order, hidden));
      return std::vector{y, h, c};
    }
    const Value inputs = input_products(x, d.w, bias);
    // Peepholes are those of the input, output and forget gate.
    const auto peep = [&](const Value& gate, std::int64_t which,
                          const Value& cell) {
      if (!d.peepholes.is_defined()) return gate;
      return gate + cell * slice_axis(d.peepholes, 0, which * hidden,
                                      (which + 1) * hidden);
    };
    return scanned(
        layer, inputs, {d.h, d.c},
        [&](const Value& now, const std::vector<Value>& states) {
          const auto z = in_gates(
              now + matmul(states[0], d.r, {.transpose_b = true}), hidden, 4);
          const Value& before = states[1];
          const auto sigma = [&](const Value& gate) {
            return d.activations[0](clipped(layer, gate));
          };
          const Value i = sigma(peep(z[0], 0, before));
          const Value f = couples ? 1 - i : sigma(peep(z[2], 2, before));
          const Value g = d.activations[1](clipped(layer, z[3]));
          const Value c = f * before + i * g;
          const Value o = sigma(peep(z[1], 1, c));
          return std::vector{o * d.activations[2](c), c};
        });
  });
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_recurrences(OnnxRegistry& ops) {
  using namespace onnx;
  ops.add({.name = "RNN", .import = import_rnn});
  ops.add({.name = "GRU", .import = import_gru});
  ops.add({.name = "LSTM", .import = import_lstm});
}

}  // namespace weft
