// Scan as opset 8 had it: sequences lie in batches, [batch, time, …], and may
// be shorter than their axis.
#include "weft/onnx/node.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/control.h"
#include "weft/ops/slice.h"
#include "weft/ops/unary.h"

namespace weft::onnx {
namespace {

// One example's scan over its steps. `values` are its states, its sequences
// and, if they have lengths, its own; behind its end the states stay, and what
// the steps put out is nothing that ONNX speaks of.
std::vector<Value> scan_one(const OnnxNode& node, std::size_t states,
                            std::span<const Value> values) {
  const GraphProto& body = node.graph("body");
  const Integers directions = node.integers("directions");
  const std::size_t sequences = node.operand_count() - 1 - states;
  const std::vector<Value> initial(values.begin(), values.begin() + states);
  std::vector<Value> scanned(values.begin() + states,
                             values.begin() + states + sequences);
  const auto runs_back = [&](std::size_t i) {
    return i < directions.size() && directions[i] != 0;
  };
  for (std::size_t i = 0; i < sequences; ++i) {
    if (runs_back(i)) scanned[i] = reverse(scanned[i], {0});
  }
  scanned.push_back(iota(scanned[0].shape()[0]));
  return scan(
      initial, scanned,
      [&](const std::vector<Value>& now, const std::vector<Value>& slices) {
        std::vector<OnnxValue> arguments(now.begin(), now.end());
        arguments.insert(arguments.end(), slices.begin(), slices.end() - 1);
        std::vector<Value> next;
        for (const OnnxValue& each : node.run(body, arguments)) {
          next.push_back(each.plain());
        }
        if (!node.has(0) || next.size() < states) return next;
        const Value is_within = less(slices.back(), values.back());
        for (std::size_t i = 0; i < states; ++i) {
          next[i] = where(is_within, next[i], now[i]);
        }
        return next;
      });
}

void import_batched_scan(OnnxNode& node) {
  const std::int64_t sequences = node.integer("num_scan_inputs");
  const auto operands = static_cast<std::int64_t>(node.operand_count()) - 1;
  if (sequences < 1 || sequences > operands) {
    throw node.damaged("{} of {} operands are scanned", sequences, operands);
  }
  for (const std::int64_t direction : node.integers("directions")) {
    if (direction != 0 && node.has(0)) {
      throw node.unsupported(
          "goes backwards through sequences of different lengths, of which "
          "ONNX does not say where they begin");
    }
  }
  std::vector<Value> batches;
  for (std::size_t i = 1; i < node.operand_count(); ++i) {
    batches.push_back(node.input(i));
    const bool is_scanned = std::ssize(batches) > operands - sequences;
    if (batches.back().shape().rank() < (is_scanned ? 2 : 1)) {
      throw node.damaged("operand {} has no axis of {}", i,
                         is_scanned ? "time" : "the batch");
    }
  }
  if (node.has(0)) batches.push_back(cast(node.input(0), DType::kI64));
  node.set_all(
      scan({}, batches,
           [&](const std::vector<Value>&, const std::vector<Value>& example) {
             return scan_one(
                 node, static_cast<std::size_t>(operands - sequences), example);
           }));
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_batched_scans(OnnxRegistry& ops) {
  ops.add({.name = "Scan",
           .since = 8,
           .until = 8,
           .import = onnx::import_batched_scan});
}

}  // namespace weft
