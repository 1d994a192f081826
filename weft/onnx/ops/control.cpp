// If, Loop and Scan: graphs that a node runs.
#include "weft/ops/control.h"

#include <algorithm>
#include <limits>

#include "weft/onnx/elementwise.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/join.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft::onnx {
namespace {

std::vector<Value> plain_values(const std::vector<OnnxValue>& values) {
  std::vector<Value> result;
  for (const OnnxValue& value : values) result.push_back(value.plain());
  return result;
}

std::vector<OnnxValue> as_onnx_values(std::span<const Value> values) {
  return {values.begin(), values.end()};
}

// ONNX writes a truth as a scalar or as a vector of one.
Value as_truth(const Value& x) { return reshaped(x, {}); }

void set_values(OnnxNode& node, const std::vector<OnnxValue>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) node.set(i, values[i]);
}

// What a branch returns. How long a sequence is, and whether an optional holds
// something, only a condition that is known says.
std::vector<Value> branch_values(const OnnxNode& node,
                                 const GraphProto& graph) {
  std::vector<Value> values;
  for (const OnnxValue& each : node.run(graph, {})) {
    if (each.elements() != nullptr || each.is_nothing()) {
      throw node.unsupported(
          "chooses between sequences or optionals by what is computed from "
          "inputs of the graph, but shapes and constants must not depend on "
          "them");
    }
    values.push_back(each.plain());
  }
  return values;
}

// A condition that is known chooses now, as exporters' leftovers do.
void import_if(OnnxNode& node) {
  const GraphProto& then = node.graph("then_branch");
  const GraphProto& otherwise = node.graph("else_branch");
  if (node.operand(0).is_known()) {
    return set_values(
        node, node.run(node.known(0).item() != 0 ? then : otherwise, {}));
  }
  node.set_all(cond(
      as_truth(node.input(0)), [&] { return branch_values(node, then); },
      [&] { return branch_values(node, otherwise); }));
}

// What a loop's body takes: the step, the condition, and what is carried.
struct LoopOperands {
  std::vector<Value> carried;
  std::size_t outputs = 0;  // of each step, to be stacked
};

// A body that never ends its loop by itself. The condition that it is given is
// true, so that it may pass that on.
bool is_always_true(const OnnxValue& condition) {
  return condition.is_known() && condition.plain().tensor().size() == 1 &&
         condition.plain().tensor().item() != 0;
}

// A number of steps that is known before the loop runs.
void run_counted_loop(OnnxNode& node, const LoopOperands& loop,
                      const Value& counter) {
  const GraphProto& body = node.graph("body");
  auto results = scan(
      loop.carried, {counter},
      [&](const std::vector<Value>& carried, const std::vector<Value>& step) {
        std::vector<OnnxValue> arguments = {step[0],
                                            Value(Tensor::scalar(true))};
        const auto more = as_onnx_values(carried);
        arguments.insert(arguments.end(), more.begin(), more.end());
        auto made = node.run(body, arguments);
        if (made.empty() || !is_always_true(made[0])) {
          throw node.unsupported(
              "collects results of steps whose number "
              "depends on what they compute");
        }
        made.erase(made.begin());
        return plain_values(made);
      });
  node.set_all(results);
}

void run_conditional_loop(OnnxNode& node, const LoopOperands& loop,
                          const Value& limit, const Value& first) {
  const GraphProto& body = node.graph("body");
  std::vector<Value> carried = {scalar(0, DType::kI64), first};
  carried.insert(carried.end(), loop.carried.begin(), loop.carried.end());
  const auto results = while_loop(
      carried,
      [&](const std::vector<Value>& now) {
        if (!limit.is_defined()) return now[1];
        return logical_and(now[1], less(now[0], limit));
      },
      [&](const std::vector<Value>& now) {
        auto next = plain_values(node.run(body, as_onnx_values(now)));
        if (next.empty()) throw node.damaged("the body returns nothing");
        next[0] = as_truth(next[0]);
        next.insert(next.begin(), now[0] + 1);
        return next;
      });
  node.set_all({results.begin() + 2, results.end()});
}

// A loop that carries sequences, whose lengths change from step to step: each
// step is imported by itself, so their number and the condition must be known.
void unroll_loop(OnnxNode& node) {
  const GraphProto& body = node.graph("body");
  constexpr std::int64_t kMostSteps = 1024;
  const std::int64_t steps = node.has(0)
                                 ? node.known_integer(0)
                                 : std::numeric_limits<std::int64_t>::max();
  bool goes_on = !node.has(1) || node.known_real(1) != 0;
  std::vector<OnnxValue> carried;
  for (std::size_t i = 2; i < node.operand_count(); ++i) {
    carried.push_back(node.operand(i));
  }
  if (body.outputs.size() < carried.size() + 1) {
    throw node.damaged("the body returns {} values", body.outputs.size());
  }
  std::vector<std::vector<Value>> outputs(body.outputs.size() - 1 -
                                          carried.size());
  for (std::int64_t step = 0; step < steps && goes_on; ++step) {
    if (step == kMostSteps) {
      throw node.unsupported("carries a sequence through more than {} steps",
                             kMostSteps);
    }
    std::vector<OnnxValue> arguments = {Value(Tensor::scalar(step)),
                                        Value(Tensor::scalar(true))};
    arguments.insert(arguments.end(), carried.begin(), carried.end());
    const std::vector<OnnxValue> made = node.run(body, arguments);
    if (!made[0].is_known()) {
      throw node.unsupported(
          "carries a sequence through steps whose number depends on what they "
          "compute");
    }
    const Tensor condition = made[0].plain().tensor();
    if (condition.size() != 1) throw node.damaged("the condition is no truth");
    goes_on = condition.item() != 0;
    std::copy_n(made.begin() + 1, carried.size(), carried.begin());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Value output = made[1 + carried.size() + i].plain();
      Shape shape{1};
      for (const Dim dim : output.shape()) shape.push_back(dim);
      outputs[i].push_back(reshaped(output, shape));
    }
  }
  set_values(node, carried);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].empty()) {
      throw node.unsupported("collects results of no steps");
    }
    node.set(carried.size() + i, concat(outputs[i], 0));
  }
}

void import_loop(OnnxNode& node) {
  for (std::size_t i = 2; i < node.operand_count(); ++i) {
    if (node.operand(i).elements() != nullptr) return unroll_loop(node);
  }
  const GraphProto& body = node.graph("body");
  LoopOperands loop;
  for (std::size_t i = 2; i < node.operand_count(); ++i) {
    loop.carried.push_back(node.input(i));
  }
  if (body.outputs.size() < loop.carried.size() + 1) {
    throw node.damaged("the body returns {} values", body.outputs.size());
  }
  loop.outputs = body.outputs.size() - 1 - loop.carried.size();
  const bool begins =
      !node.has(1) || (node.operand(1).is_known() && node.known(1).item() != 0);
  if (loop.outputs > 0) {
    const auto count = node.has(0) ? node.operand(0).extents() : std::nullopt;
    if (!count || count->size() != 1 || !begins) {
      throw node.unsupported(
          "collects results of a number of steps that is computed from inputs "
          "of the graph, but shapes and constants must not depend on them");
    }
    // A negative number of steps is none.
    const Extent steps = (*count)[0];
    return run_counted_loop(
        node, loop,
        iota(steps.is_symbolic ? steps.value
                               : std::max<std::int64_t>(0, steps.value)));
  }
  const Value limit = node.has(0) ? as_truth(node.input(0)) : Value();
  const Value first =
      node.has(1) ? as_truth(node.input(1)) : Value(Tensor::scalar(true));
  run_conditional_loop(node, loop, limit, first);
}

// The axis that is gone through in front, or back where it was.
Value axis_first(const Value& x, std::int64_t axis) {
  const int at = normalize_axis(axis, x.shape().rank(), "Scan");
  if (at == 0) return x;
  Integers order = {at};
  for (int i = 0; i < x.shape().rank(); ++i) {
    if (i != at) order.push_back(i);
  }
  return transpose(x, order);
}

Value first_axis_to(const Value& x, std::int64_t axis) {
  const int at = normalize_axis(axis, x.shape().rank(), "Scan");
  if (at == 0) return x;
  Integers order;
  for (int i = 1; i < x.shape().rank(); ++i) order.push_back(i);
  order.insert(order.begin() + at, 0);
  return transpose(x, order);
}

// The number of a list, or what a list that is left out means.
std::int64_t entry_of(const Integers& list, std::size_t i) {
  return i < list.size() ? list[i] : 0;
}

void import_scan(OnnxNode& node) {
  const GraphProto& body = node.graph("body");
  const std::int64_t scanned_count = node.integer("num_scan_inputs");
  const auto operands = static_cast<std::int64_t>(node.operand_count());
  if (scanned_count < 1 || scanned_count > operands) {
    throw node.damaged("{} of {} operands are scanned", scanned_count,
                       operands);
  }
  const auto states = static_cast<std::size_t>(operands - scanned_count);
  const Integers axes = node.integers("scan_input_axes");
  const Integers directions = node.integers("scan_input_directions");
  std::vector<Value> carried;
  std::vector<Value> scanned;
  for (std::size_t i = 0; i < node.operand_count(); ++i) {
    if (i < states) {
      carried.push_back(node.input(i));
      continue;
    }
    Value x = axis_first(node.input(i), entry_of(axes, i - states));
    if (entry_of(directions, i - states) != 0) x = reverse(x, {0});
    scanned.push_back(x);
  }
  auto results = scan(
      carried, scanned,
      [&](const std::vector<Value>& now, const std::vector<Value>& slices) {
        std::vector<Value> all = now;
        all.insert(all.end(), slices.begin(), slices.end());
        return plain_values(node.run(body, as_onnx_values(all)));
      });
  const Integers out_axes = node.integers("scan_output_axes");
  const Integers out_directions = node.integers("scan_output_directions");
  for (std::size_t i = states; i < results.size(); ++i) {
    if (entry_of(out_directions, i - states) != 0) {
      results[i] = reverse(results[i], {0});
    }
    results[i] = first_axis_to(results[i], entry_of(out_axes, i - states));
  }
  node.set_all(results);
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_control(OnnxRegistry& ops) {
  using namespace onnx;
  ops.add({.name = "If", .since = 1, .import = import_if});
  ops.add({.name = "Loop", .since = 1, .import = import_loop});
  // Opset 8 had a batch axis of its own (batched_scans.cpp).
  ops.add({.name = "Scan", .since = 9, .import = import_scan});
}

}  // namespace weft
