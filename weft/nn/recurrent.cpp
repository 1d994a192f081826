#include "weft/nn/recurrent.h"

#include <algorithm>
#include <cmath>

#include "weft/nn/dropout.h"
#include "weft/nn/scope.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/constant.h"
#include "weft/ops/control.h"
#include "weft/ops/matmul.h"
#include "weft/ops/recurrent.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft::nn {
namespace {

// The bound is by the hidden size for both matrices, as in PyTorch.
Init matrix_init(std::int64_t hidden) { return Init::fan_in(hidden); }

// The state that a sequence starts from: carried, or zero.
Value first_state(const ParameterRef& carried, const Value& x,
                  std::int64_t hidden) {
  if (carried) return value_of(carried);
  // Sequences stand in the order of time, so the batch is the second dim.
  return full({x.dtype(), {x.shape()[1], hidden}}, 0);
}

}  // namespace

// One layer: what has the weights.
class RecurrentCell : public Layer {};

bool has_recurrent_layer(const Module& model) {
  return std::ranges::any_of(
      model.declared_parameters(), [](const Module::Declared& each) {
        return dynamic_cast<const RecurrentCell*>(each.module) != nullptr;
      });
}

template <class Cell>
void RecurrentStack::stack(std::int64_t inputs, std::int64_t hidden,
                           const RecurrentOptions& options) {
  for (std::int64_t k = 0; k < options.layers; ++k) {
    // Dropout is between layers only; what is before the first and behind the
    // last is the model's.
    if (k > 0 && options.dropout > 0) {
      layers_.push_back(std::make_shared<Dropout>(options.dropout));
      adopt(fmt::format("dropout{}", k), layers_.back());
    }
    layers_.push_back(std::make_shared<Cell>(k == 0 ? inputs : hidden, hidden,
                                             options.carried_batch));
    adopt(fmt::format("{}", k), layers_.back());
  }
}

Value RecurrentStack::forward(const Value& x) {
  Value y = x;
  for (const auto& layer : layers_) y = (*layer)(y);
  return y;
}

class Lstm::Cell : public RecurrentCell {
 public:
  Cell(std::int64_t inputs, std::int64_t hidden, std::int64_t carried_batch)
      : hidden_(hidden),
        // All four gates are one product.
        w_ih_(parameter("w_ih", {inputs, 4 * hidden}, matrix_init(hidden))),
        w_hh_(parameter("w_hh", {hidden, 4 * hidden}, matrix_init(hidden))),
        bias_(parameter("bias", {4 * hidden}, Init::constant(0))) {
    if (carried_batch == 0) return;
    const Shape state{carried_batch, hidden};
    // What is carried is a parameter by role, so that checkpoints keep it and
    // no optimizer touches it.
    h_ = parameter("h", state, Init::constant(0), Role::kCarried);
    c_ = parameter("c", state, Init::constant(0), Role::kCarried);
  }

 protected:
  Value forward(const Value& input) override {
    // The op takes f32 and f64 only, whatever the precision around the layer.
    const Value x = to_f32(input);
    const auto [all, h, c] =
        lstm(x, first_state(h_, x, hidden_), first_state(c_, x, hidden_),
             value_of(w_ih_), value_of(w_hh_), value_of(bias_),
             RecurrentWeightsScope::current());
    // What the last step left is where the next batch goes on.
    if (h_) h_->variable.assign(h);
    if (c_) c_->variable.assign(c);
    return all;
  }

 private:
  std::int64_t hidden_;
  ParameterRef w_ih_;
  ParameterRef w_hh_;
  ParameterRef bias_;
  ParameterRef h_;
  ParameterRef c_;
};

class Gru::Cell : public RecurrentCell {
 public:
  Cell(std::int64_t inputs, std::int64_t hidden, std::int64_t carried_batch)
      : hidden_(hidden),
        w_ih_(parameter("w_ih", {inputs, 3 * hidden}, matrix_init(hidden))),
        w_hh_(parameter("w_hh", {hidden, 3 * hidden}, matrix_init(hidden))),
        b_ih_(parameter("b_ih", {3 * hidden}, Init::constant(0))),
        // A GRU has two biases, as its reset gate acts between them
        // (ops/gru.cpp).
        b_hh_(parameter("b_hh", {3 * hidden}, Init::constant(0))) {
    if (carried_batch == 0) return;
    h_ = parameter("h", {carried_batch, hidden}, Init::constant(0),
                   Role::kCarried);
  }

 protected:
  Value forward(const Value& input) override {
    const Value x = to_f32(input);
    const auto [all, h] =
        gru(x, first_state(h_, x, hidden_), value_of(w_ih_), value_of(w_hh_),
            value_of(b_ih_), value_of(b_hh_), RecurrentWeightsScope::current());
    if (h_) h_->variable.assign(h);
    return all;
  }

 private:
  std::int64_t hidden_;
  ParameterRef w_ih_;
  ParameterRef w_hh_;
  ParameterRef b_ih_;
  ParameterRef b_hh_;
  ParameterRef h_;
};

class Sru::Cell : public Layer {
 public:
  Cell(std::int64_t inputs, std::int64_t hidden, std::int64_t carried_batch)
      : hidden_(hidden),
        // The highway goes past the units, and needs as many numbers as these.
        blocks_(inputs == hidden ? 3 : 4),
        weight_(parameter(
            "weight", {inputs, blocks_ * hidden},
            // This keeps the variance of the inputs (section
            // 3.3).
            Init::uniform(std::sqrt(3 / static_cast<double>(inputs))))),
        state_weight_(
            parameter("state_weight", {2 * hidden}, Init::constant(0))),
        bias_(parameter("bias", {2 * hidden}, Init::constant(0))) {
    if (carried_batch == 0) return;
    c_ = parameter("c", {carried_batch, hidden}, Init::constant(0),
                   Role::kCarried);
  }

 protected:
  Value forward(const Value& input) override {
    const Value x = to_f32(input);
    // All products of all steps are one: they need no state.
    const Value products = product_of(x);
    const Value bias = value_of(bias_);
    const Value state_weight = value_of(state_weight_);
    const Value highway = blocks_ == 3 ? x : block(products, 3);
    // A layer then starts with the variance that it is given: gates begin at
    // one half, and so with b = 0 (section 3.3, alpha = sqrt(1 + 2 exp(b))).
    const std::vector<Value> scanned = {
        block(products, 0), block(products, 1) + block(bias, 0),
        block(products, 2) + block(bias, 1), highway * std::sqrt(3.0)};
    const Value forget_weight = block(state_weight, 0);
    const Value reset_weight = block(state_weight, 1);
    const auto step = [&](const std::vector<Value>& carried,
                          const std::vector<Value>& at) {
      const Value& before = carried[0];
      const Value f = sigmoid(at[1] + forget_weight * before);  // eq. 1
      const Value c = f * before + (1 - f) * at[0];             // eq. 2
      const Value r = sigmoid(at[2] + reset_weight * before);   // eq. 3
      return std::vector{c, r * c + (1 - r) * at[3]};           // eq. 4
    };
    const std::vector<Value> made =
        scan({first_state(c_, x, hidden_)}, scanned, step);
    if (c_) c_->variable.assign(made[0]);
    return made[1];
  }

 private:
  Value product_of(const Value& x) const {
    const Shape& shape = x.shape();
    const Dim rows = dim_multiply(shape[0], shape[1]);
    const Value y = matmul(reshape(x, {rows, shape[2]}), value_of(weight_));
    return reshape(y, {shape[0], shape[1], blocks_ * hidden_});
  }
  // The numbers of all units in one of the blocks of the last axis.
  Value block(const Value& x, std::int64_t index) const {
    return slice_axis(x, -1, index * hidden_, (index + 1) * hidden_);
  }

  std::int64_t hidden_;
  std::int64_t blocks_;
  ParameterRef weight_;
  ParameterRef state_weight_;
  ParameterRef bias_;
  ParameterRef c_;
};

Lstm::Lstm(std::int64_t inputs, std::int64_t hidden, RecurrentOptions options) {
  stack<Cell>(inputs, hidden, options);
}

Gru::Gru(std::int64_t inputs, std::int64_t hidden, RecurrentOptions options) {
  stack<Cell>(inputs, hidden, options);
}

Sru::Sru(std::int64_t inputs, std::int64_t hidden, RecurrentOptions options) {
  stack<Cell>(inputs, hidden, options);
}

}  // namespace weft::nn
