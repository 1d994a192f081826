#include "weft/ops/nms.h"

#include <cmath>

#include "weft/graph/registry.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/doubles.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/support/suppression.h"

namespace weft {
namespace {

std::vector<TensorType> infer_nms(const OpCall& call) {
  const TensorType& boxes = call.input(0);
  const TensorType& scores = call.input(1);
  if (!is_floating(boxes.dtype) || boxes.dtype != scores.dtype) {
    throw call.error("boxes and scores must be floats of one dtype");
  }
  const int rank = scores.shape.rank();
  if (rank < 1 || boxes.shape.rank() != rank + 1 || boxes.shape.back() != 4 ||
      Shape(boxes.shape.first(rank)) != scores.shape) {
    throw call.error("takes boxes [..., n, 4] and scores [..., n]");
  }
  // The comparison is written so that NaN is refused, too.
  const double threshold = call.attributes.real("threshold");
  if (!(threshold >= 0 && threshold <= 1)) {
    throw call.error("the threshold {} is no share of an area", threshold);
  }
  const std::int64_t most = call.attributes.integer("most");
  if (most < 1) throw call.error("keeps at least one box, not {}", most);
  // The results have a fixed size, as shapes are known before values: a count
  // says how much of it holds boxes.
  const Shape leading(scores.shape.first(rank - 1));
  Shape indices = leading;
  indices.push_back(most);
  return {{DType::kI64, indices}, {DType::kI64, leading}};
}

void nms_reference(const OpCall& call, std::span<const TensorView> inputs,
                   std::span<const TensorView> outputs) {
  const auto boxes = to_doubles(inputs[0]);
  const auto scores = to_doubles(inputs[1]);
  const std::int64_t n = inputs[1].shape().back();
  const std::int64_t most = call.attributes.integer("most");
  // suppress() needs room for an order of the boxes; one array serves all sets.
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  for (std::int64_t set = 0; set < outputs[1].size(); ++set) {
    outputs[1].as<std::int64_t>()[set] =
        suppress(boxes.data() + 4 * set * n, scores.data() + set * n, n,
                 call.attributes.real("threshold"), most, order.data(),
                 outputs[0].as<std::int64_t>() + set * most);
  }
}

// A sort, and each box against those that are kept, twenty flops a pair.
Cost nms_cost(const OpCall& call) {
  const auto boxes = static_cast<double>(call.input(1).shape.num_elements());
  const auto most = static_cast<double>(call.attributes.integer("most"));
  return Cost::of(call, boxes * (std::log2(boxes + 1) + 20 * most));
}

// Sets have fewer boxes than are asked for, or none; at a threshold of 0, boxes
// that only touch both stay.
std::vector<OpSample> nms_samples() {
  const auto keep = [](const Shape& sets, Dim n, double threshold,
                       std::int64_t most, DType dtype = DType::kF32) {
    Shape scores = sets;
    scores.push_back(n);
    Shape boxes = scores;
    boxes.push_back(4);
    return OpSample{{floats(boxes, 0, 2, dtype), floats(scores, 0, 1, dtype)},
                    {{"threshold", threshold}, {"most", most}}};
  };
  return {keep({}, 20, 0.3, 8),
          keep({2, 3}, 30, 0.1, 30),
          keep({2}, 1, 0.5, 3),
          keep({2}, 0, 0.5, 3),
          keep({0}, 4, 0.5, 3),
          keep({}, 100, 0, 5),
          keep({3}, 25, 0.2, 9, DType::kF64),
          keep({2}, 25, 0.2, 9, DType::kBF16)};
}

}  // namespace

void register_nms(OpRegistry& ops) {
  ops.add("nms")
      .summary("the best of boxes that overlap, and how many there are")
      .signature("(boxes, scores) -> indices, count")
      .required("threshold", 0.5)
      .required("most", std::int64_t{1})
      .traits(kNoGradient)
      .infer(infer_nms)
      .reference(nms_reference)
      .batch(batch_rows)
      .cost(nms_cost)
      .samples(nms_samples);
}

std::pair<Value, Value> nms(const Operand& boxes, const Operand& scores,
                            double threshold, std::int64_t most) {
  static const OpDef& op = op_registry().get("nms");
  auto results =
      call_all(op, std::array{*boxes.value, *scores.value},
               {{"threshold", threshold}, {"most", most}}, boxes.location);
  return {std::move(results[0]), std::move(results[1])};
}

}  // namespace weft
