#include <algorithm>

#include "weft/graph/registry.h"
#include "weft/ops/control.h"
#include "weft/ops/join.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/support/closures.h"
#include "weft/ops/support/onnx.h"

namespace weft {
namespace {

constexpr const char* kCountingHint = "scan over iota() to count steps";

std::size_t scanned_count(const OpCall& call, std::size_t carried) {
  const std::int64_t scanned = call.attributes.integer("scanned");
  if (scanned < 1 ||
      scanned > static_cast<std::int64_t>(call.inputs.size() - carried)) {
    // The number of steps is that of the slices, so there must be something to
    // scan.
    throw call.error("{} operands cannot be scanned", scanned)
        .hint(kCountingHint);
  }
  return static_cast<std::size_t>(scanned);
}

// The type of one step's part of a scanned operand.
TensorType slice_type(const OpCall& call, const TensorType& whole) {
  if (whole.shape.is_scalar()) throw call.error("a scalar cannot be scanned");
  return {whole.dtype, Shape(whole.shape.last(whole.shape.rank() - 1))};
}

TensorType stacked_type(const TensorType& step, Dim steps) {
  Shape shape{steps};
  for (const Dim dim : step.shape) shape.push_back(dim);
  return {step.dtype, shape};
}

std::vector<TensorType> infer_scan(const OpCall& call) {
  const std::size_t carried = carried_count(call);
  const std::size_t scanned = scanned_count(call, carried);
  // The body sees one step of each scanned operand, and all others as they are.
  std::vector<TensorType> arguments(call.inputs.begin(), call.inputs.end());
  for (std::size_t i = carried; i < carried + scanned; ++i) {
    arguments[i] = slice_type(call, call.input(i));
    // One counter runs through all of them.
    // A shorter one would be read beyond its end.
    if (call.input(i).shape[0] != call.input(carried).shape[0]) {
      throw call.error("the scanned operands differ in their leading axis");
    }
  }
  // A scanned operand loses its leading axis in the body; an output gains it.
  auto results = result_types(call.attributes.function("body"), arguments);
  // What a step carries is the next one's operand, so that its type must stay.
  require_carried(call, results, carried);
  for (std::size_t i = carried; i < results.size(); ++i) {
    results[i] = stacked_type(results[i], call.input(carried).shape[0]);
  }
  return results;
}

// The callable sees the slices before the op is made, so that what has none is
// found here; the op itself is also read from files.
void check_scanned(const std::vector<Value>& scanned) {
  const auto refuse = [](std::string_view reason) {
    return Error(ErrorCode::kInvalidArgument, "scan", "{}", reason);
  };
  if (scanned.empty()) {
    throw refuse("nothing to scan, and so no number of steps")
        .hint(kCountingHint);
  }
  for (const Value& whole : scanned) {
    if (whole.shape().is_scalar()) throw refuse("a scalar cannot be scanned");
    if (whole.shape()[0] != scanned[0].shape()[0]) {
      throw refuse("the scanned operands differ in their leading axis");
    }
  }
}

Value slice_at(const Value& whole, Dim step) {
  const Shape& shape = whole.shape();
  return reshape(slice_axis(whole, 0, step, step + 1),
                 Shape(shape.last(shape.rank() - 1)));
}

Value stacked(std::vector<Value> steps) {
  for (Value& step : steps) {
    step = reshape(step, stacked_type(step.type(), 1).shape);
  }
  // All outputs of a step are kept and joined once: joining at each step would
  // copy the earlier ones again and again.
  return concat(steps, 0);
}

// Runs the body on each slice in turn, at once.
std::vector<Value> run_scan(const LoopAtOnce& loop, std::vector<Value> carried,
                            const std::vector<Value>& scanned,
                            const ScanBody& body, bool reverse) {
  const Dim steps = scanned[0].shape()[0];
  // Staged, the types come from tracing the body once; here nothing has called
  // it.
  if (steps == 0) {
    throw Error(ErrorCode::kUnsupported, "scan",
                "no steps: the outputs' types are unknown where ops run at "
                "once");
  }
  std::vector<std::vector<Value>> outputs;
  std::vector<TensorType> types;  // of the results of a step
  for (Dim step = 0; step < steps; ++step) {
    const Dim at = reverse ? steps - 1 - step : step;
    std::vector<Value> slices;
    for (const Value& whole : scanned) {
      slices.push_back(slice_at(whole, at));
    }
    auto results = body(carried, slices);
    loop.require([&](const OpCall& call) {
      const std::vector<TensorType> own = types_of(results);
      require_carried(call, own, carried.size());
      // What it returns as outputs is stacked.
      if (step > 0 && own != types) {
        throw call.error("the outputs of two steps have different types");
      }
      types = own;
    });
    for (std::size_t i = 0; i < carried.size(); ++i) carried[i] = results[i];
    results.erase(
        results.begin(),
        results.begin() + static_cast<std::ptrdiff_t>(carried.size()));
    outputs.resize(results.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      outputs[i].push_back(results[i]);
    }
  }
  for (auto& output : outputs) {
    // Outputs stand where their slices stood, not in the order in which they
    // were made.
    if (reverse) std::reverse(output.begin(), output.end());
    carried.push_back(stacked(std::move(output)));
  }
  return carried;
}

void export_scan(OnnxContext& c) {
  const std::size_t carried = carried_count(c.call());
  const std::size_t scanned = scanned_count(c.call(), carried);
  OnnxContext::Names operands, captured;
  OnnxContext::Body body{"body", {}, nullptr};
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    const bool is_own = i < carried + scanned;
    (is_own ? operands : captured).push_back(c.x(i));
    if (!is_own) continue;
    body.inputs.push_back(i < carried ? c.type(i)
                                      : slice_type(c.call(), c.type(i)));
  }
  body.build = [&](OnnxContext::Names names) {
    names.insert(names.end(), captured.begin(), captured.end());
    return c.run(c.attributes().function("body"), names);
  };
  const std::size_t outputs = c.call().outputs.size();
  Attributes attributes = {
      {"num_scan_inputs", static_cast<std::int64_t>(scanned)}};
  if (c.attributes().flag("reverse")) {
    attributes.set("scan_input_directions", Integers(scanned, 1));
    attributes.set("scan_output_directions", Integers(outputs - carried, 1));
  }
  const auto results = c.emit("Scan", operands, attributes, {body}, outputs);
  for (std::size_t i = 0; i < results.size(); ++i) c.set(i, results[i]);
}

}  // namespace

void register_scan(OpRegistry& ops) {
  ops.add("scan")
      .summary("a function along leading axes, values carried between steps")
      .signature("(values...) -> results")
      .required("body", FunctionRef())
      .required("carried", std::int64_t{0})
      .required("scanned", std::int64_t{1})
      .attribute("reverse", false)
      .traits(kControl)
      .infer(infer_scan)
      .onnx(export_scan)
      .cost([](const OpCall& call) { return Cost::of(call, 0); });
}

std::vector<Value> scan(std::vector<Value> initial,
                        const std::vector<Value>& scanned, const ScanBody& body,
                        bool reverse, const Location& where) {
  static const OpDef& op = op_registry().get("scan");
  check_scanned(scanned);
  FunctionBuilder* builder = current_context().builder();
  if (builder == nullptr) {
    const LoopAtOnce loop(op, initial, where);
    return run_scan(loop, std::move(initial), scanned, body, reverse);
  }
  const std::size_t carried = initial.size();
  std::vector<TensorType> types = types_of(initial);
  for (const Value& whole : scanned) {
    const Shape& shape = whole.shape();
    types.push_back({whole.dtype(), Shape(shape.last(shape.rank() - 1))});
  }
  // Values from outside that the body uses become operands behind the scanned
  // ones.
  Closures bodies(*builder);
  bodies.add("body", types, [&](const std::vector<Value>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(carried);
    return body({values.begin(), middle}, {middle, values.end()});
  });
  const auto functions = bodies.finish();
  initial.insert(initial.end(), scanned.begin(), scanned.end());
  bodies.append_captures(initial);
  return call_all(op, initial,
                  {{"body", functions[0]},
                   {"carried", static_cast<std::int64_t>(carried)},
                   {"scanned", static_cast<std::int64_t>(scanned.size())},
                   {"reverse", reverse}},
                  where);
}

}  // namespace weft
