#include "weft/ops/loss.h"

#include <cmath>

#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/pick.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/doubles.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/indexing.h"
#include "weft/ops/support/log_sum_exp.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

void check_rows(const OpCall& call) {
  if (!is_floating(call.input(0).dtype)) {
    throw call.error("computes in floats only");
  }
  if (call.input(0).shape.rank() < 1) {
    throw call.error("a scalar has no last axis");
  }
}

Shape without_last(const Shape& shape) {
  return Shape(shape.first(shape.rank() - 1));
}

// Sums over classes need more than half precision. A bf16 sum of ones stops at
// 256.
DType loss_dtype(DType logits) {
  return logits == DType::kF64 ? DType::kF64 : DType::kF32;
}

// Rows get a last axis of size 1, to broadcast over the classes.
Value as_column(const Value& rows) {
  Shape shape = rows.shape();
  shape.push_back(1);
  return reshape(rows, shape);
}

void check_labels(const OpCall& call) {
  const TensorType& labels = call.input(1);
  if (labels.dtype != DType::kI32 && labels.dtype != DType::kI64) {
    throw call.error("labels are i32 or i64");
  }
  const Shape expected = without_last(call.input(0).shape);
  if (labels.shape != expected) {
    throw call.error("labels must be {}", to_string(expected))
        .hint("one label per row; the last axis of the logits counts classes");
  }
}

std::vector<TensorType> infer_cross_entropy(const OpCall& call) {
  check_rows(call);
  check_labels(call);
  // lse is returned beside the loss, as dx is then one pass over the logits,
  // without maxima and sums of its own.
  const TensorType row{loss_dtype(call.input(0).dtype), call.input(1).shape};
  return {row, row};
}

std::vector<TensorType> infer_cross_entropy_gradient(const OpCall& call) {
  check_rows(call);
  check_labels(call);
  const TensorType row{loss_dtype(call.input(0).dtype), call.input(1).shape};
  for (const std::size_t i : {std::size_t{2}, std::size_t{3}}) {
    if (!(call.input(i) == row)) {
      throw call.error("{} must be {}", call.op.input_name(i), to_string(row));
    }
  }
  return {call.input(0)};
}

// Calls body(row number, row) for each row of the last axis.
template <class Body>
void for_each_row(const std::vector<double>& x, const Shape& shape,
                  Body&& body) {
  // Without elements there may be no classes to divide by.
  if (x.empty()) return;
  const auto classes = static_cast<std::size_t>(shape.back());
  for (std::size_t row = 0; row < x.size() / classes; ++row) {
    body(row, std::span(x).subspan(row * classes, classes));
  }
}

std::size_t label_of(const TensorView& labels, std::size_t row,
                     std::size_t classes) {
  // Unlike an index, -1 is no last class: it often stands for a missing label.
  const auto label =
      load_as<std::int64_t>(labels, static_cast<std::int64_t>(row));
  return static_cast<std::size_t>(
      class_of(label, static_cast<std::int64_t>(classes)));
}

void cross_entropy_reference(const OpCall&, std::span<const TensorView> inputs,
                             std::span<const TensorView> outputs) {
  for_each_row(to_doubles(inputs[0]), inputs[0].shape(),
               [&](std::size_t i, std::span<const double> row) {
                 const double lse = log_sum_exp(row);
                 const auto index = static_cast<std::int64_t>(i);
                 // The loss is -log(exp(x_label) / Σ exp(x)) = lse - x_label.
                 store_as(outputs[0], index,
                          lse - row[label_of(inputs[1], i, row.size())]);
                 store_as(outputs[1], index, lse);
               });
}

void cross_entropy_gradient_reference(const OpCall&,
                                      std::span<const TensorView> inputs,
                                      std::span<const TensorView> outputs) {
  const auto lse = to_doubles(inputs[2]);
  const auto dy = to_doubles(inputs[3]);
  std::vector<double> dx;
  for_each_row(to_doubles(inputs[0]), inputs[0].shape(),
               [&](std::size_t i, std::span<const double> row) {
                 const std::size_t label = label_of(inputs[1], i, row.size());
                 for (std::size_t k = 0; k < row.size(); ++k) {
                   const double hot = k == label ? 1 : 0;
                   // This is dx_k = (p_k - [k = label]) dy with p = exp(x -
                   // lse).
                   dx.push_back((std::exp(row[k] - lse[i]) - hot) * dy[i]);
                 }
               });
  from_doubles(dx, outputs[0]);
}

// exp(logits - lse), in the precision of the loss.
Value probabilities(const Value& logits, const Value& lse) {
  return exp(to_dtype(logits, lse.dtype()) - as_column(lse));
}

// The loss falls by one at the label; lse rises by each class's probability.
Gradients cross_entropy_rule(const GradientContext& g) {
  static const OpDef& op = op_registry().get("cross_entropy_gradient");
  const Value& logits = g.x(0);
  Value dx;
  if (g.dy(0).is_defined()) {
    // The probabilities need not be kept: they are one exp from lse.
    dx = call(op, {&logits, &g.x(1), &g.y(1), &g.dy(0)}, {}, {});
  }
  // Gradients of lse come up where a gradient is differentiated.
  if (g.dy(1).is_defined()) {
    const Value extra = to_dtype(
        probabilities(logits, g.y(1)) * as_column(g.dy(1)), logits.dtype());
    dx = dx.is_defined() ? dx + extra : extra;
  }
  return {dx, Value()};
}

// The op is dx = (p - hot) dy with p = exp(logits - lse), and lse is an operand
// of it: dp/dlogits = p and dp/dlse = -p. What flows into dx is f, and
//   dlogits = f p dy,  dlse = -Σ f p dy,  ddy = Σ f p - f_label.
Gradients cross_entropy_gradient_rule(const GradientContext& g) {
  const Value& logits = g.x(0);
  const Value& lse = g.x(2);
  const Value& dy = g.x(3);
  // bf16 logits have an lse in f32, and products are made in that.
  const Value flow = to_dtype(g.dy(), lse.dtype());
  const Value p = probabilities(logits, lse);
  const Value through_p = flow * p * as_column(dy);
  const Value picked = pick(flow, g.x(1));
  return {to_dtype(through_p, logits.dtype()), Value(),
          negate(sum(through_p, {-1})), sum(flow * p, {-1}) - picked};
}

// Subtract, exponentiate (counted as eight) and add, for each class.
Cost row_cost(const OpCall& call) {
  return Cost::of(
      call, 10.0 * static_cast<double>(call.input(0).shape.num_elements()));
}

// Logits of up to 30 in size make probabilities down to exp(-60): rows that one
// class dominates.
std::vector<OpSample> cross_entropy_samples() {
  return {{{floats({3, 5}, -3, 3), indices({3}, 5)}, {}},
          {{floats({2, 3, 4}, -30, 30), indices({2, 3}, 4, DType::kI32)}, {}},
          {{floats({4, 1}), indices({4}, 1)}, {}},
          {{floats({0, 3}), indices({0}, 3)}, {}},
          {{floats({3, 37}, -3, 3, DType::kBF16), indices({3}, 37)}, {}}};
}

std::vector<OpSample> cross_entropy_gradient_samples() {
  return {
      {{floats({3, 5}, -3, 3), indices({3}, 5), floats({3}, 1, 4), floats({3})},
       {}},
      // lse is an operand, so any number will do for it.
      {{floats({2, 3, 4}), indices({2, 3}, 4, DType::kI32),
        floats({2, 3}, 1, 4), floats({2, 3})},
       {}},
      {{floats({3, 37}, -3, 3, DType::kBF16), indices({3}, 37),
        floats({3}, 1, 4), floats({3})},
       {}}};
}

std::vector<TensorType> infer_dense(const OpCall& call) {
  check_rows(call);
  if (!(call.input(0) == call.input(1))) {
    throw call.error("logits and target must have one type");
  }
  return {{call.input(0).dtype, without_last(call.input(0).shape)}};
}

std::vector<TensorType> infer_mean_squared_error(const OpCall& call) {
  if (!(call.input(0) == call.input(1)) || !is_floating(call.input(0).dtype)) {
    throw call.error("operands must be floats of one type");
  }
  return {{call.input(0).dtype, {}}};
}

}  // namespace

void register_loss(OpRegistry& ops) {
  ops.add("cross_entropy")
      .summary("-log softmax(logits)[label] per row, and log sum exp(logits)")
      .signature("(logits, labels) -> loss, lse")
      .infer(infer_cross_entropy)
      .reference(cross_entropy_reference)
      .gradient(cross_entropy_rule)
      .batch(batch_rows)
      .cost(row_cost)
      .samples(cross_entropy_samples);
  ops.add("cross_entropy_gradient")
      .summary("(exp(logits - lse) - one_hot(labels)) * dy")
      .signature("(logits, labels, lse, dy) -> dx")
      .infer(infer_cross_entropy_gradient)
      .reference(cross_entropy_gradient_reference)
      .gradient(cross_entropy_gradient_rule)
      .batch(batch_rows)
      .cost(row_cost)
      .samples(cross_entropy_gradient_samples);
  ops.add("cross_entropy_dense")
      // A target that is a distribution needs no op of its own: this composite
      // is differentiated through what it lowers to.
      .summary("-sum(target * log softmax(logits)) per row")
      .signature("(logits, target) -> loss")
      .infer(infer_dense)
      .lower([](const Attributes&, std::span<const Value> inputs) {
        const Value log_p = log_softmax(inputs[0]);
        return std::vector{negate(sum(inputs[1] * log_p, {-1}))};
      })
      .cost(row_cost)
      .samples([] {
        return std::vector<OpSample>{
            {{floats({3, 5}, -3, 3), floats({3, 5}, 0, 1)}, {}}};
      });
  ops.add("mean_squared_error")
      .summary("the mean of (a - b)^2 over all elements")
      .signature("(a, b) -> loss")
      .infer(infer_mean_squared_error)
      .lower([](const Attributes&, std::span<const Value> inputs) {
        return std::vector{mean(square(inputs[0] - inputs[1]))};
      })
      .cost([](const OpCall& call) {
        return Cost::of(call, 3.0 * static_cast<double>(
                                        call.input(0).shape.num_elements()));
      })
      .samples([] {
        return std::vector<OpSample>{{{floats({3, 5}), floats({3, 5})}, {}}};
      });
}

Value cross_entropy(const Operand& logits, const Operand& labels) {
  static const OpDef& op = op_registry().get("cross_entropy");
  const std::array inputs = {*logits.value, *labels.value};
  return std::move(call_all(op, inputs, {}, logits.location).front());
}

Value cross_entropy_dense(const Operand& logits, const Operand& target) {
  static const OpDef& op = op_registry().get("cross_entropy_dense");
  return call(op, {logits.value, target.value}, {}, logits.location);
}

Value mean_squared_error(const Operand& a, const Operand& b) {
  static const OpDef& op = op_registry().get("mean_squared_error");
  return call(op, {a.value, b.value}, {}, a.location);
}

}  // namespace weft
