// NonMaxSuppression. How many boxes it leaves is a size, so they must be known
// while importing.
#include <algorithm>

#include "weft/base/index.h"
#include "weft/onnx/node.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/index.h"
#include "weft/ops/join.h"
#include "weft/ops/nms.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"

namespace weft::onnx {
namespace {

// Corners of boxes [n, 4], from their middles and sides where they are given
// so.
Value corners_of(const OnnxNode& node, const Value& boxes) {
  if (node.integer("center_point_box", 0) == 0) return boxes;
  const Value middle = slice_axis(boxes, 1, 0, 2);
  const Value half = slice_axis(boxes, 1, 2, 4) * 0.5;
  const Value corners[] = {middle - half, middle + half};
  return concat(corners, 1);
}

struct Suppression {
  std::int64_t most = 0;
  double overlap = 0;
  std::optional<double> least_score;
};

// The boxes that stay of one class, the best first.
Integers kept_boxes(const Value& corners, const Value& scores,
                    const Suppression& by) {
  Integers candidates;
  for (std::int64_t i = 0; i < scores.tensor().size(); ++i) {
    if (!by.least_score || scores.tensor().item(i) > *by.least_score) {
      candidates.push_back(i);
    }
  }
  const auto count = static_cast<Dim>(candidates.size());
  if (count == 0 || by.most < 1) return {};
  const Value places = Tensor::of<std::int64_t>(
      {count}, std::span<const std::int64_t>(candidates));
  const auto [kept, number] =
      nms(gather(corners, places), gather(scores, places), by.overlap,
          std::min<std::int64_t>(by.most, count));
  Integers result;
  for (std::int64_t i = 0; i < *number.tensor().data<std::int64_t>(); ++i) {
    result.push_back(candidates[at(kept.tensor().data<std::int64_t>()[i])]);
  }
  return result;
}

void import_non_max_suppression(OnnxNode& node) {
  const Value boxes = node.known(0);
  const Value scores = node.known(1);
  const Shape& s = scores.shape();
  if (s.rank() != 3 || boxes.shape() != Shape{s[0], s[2], 4}) {
    throw node.damaged("boxes {} with scores {}", to_string(boxes.shape()),
                       to_string(s));
  }
  Suppression by;
  if (node.has(2)) by.most = node.known_integer(2);
  if (node.has(3)) by.overlap = node.known_real(3);
  if (node.has(4)) by.least_score = node.known_real(4);
  const ContextScope eager(eager_context());
  std::vector<std::int64_t> rows;  // batch, class, box
  // Without boxes, a file may say any number of batches and classes.
  const std::int64_t batches = s[2] == 0 ? 0 : s[0];
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const Value corners = corners_of(
        node, reshape(slice_axis(boxes, 0, batch, batch + 1), {s[2], 4}));
    for (std::int64_t kind = 0; kind < s[1]; ++kind) {
      const Value of_kind = reshape(
          slice(scores, {batch, kind, 0}, {batch + 1, kind + 1, s[2]}), {s[2]});
      for (const std::int64_t box : kept_boxes(corners, of_kind, by)) {
        rows.insert(rows.end(), {batch, kind, box});
      }
    }
  }
  node.set(Value(
      Tensor::of<std::int64_t>({static_cast<Dim>(rows.size() / 3), 3}, rows)));
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_suppressions(OnnxRegistry& ops) {
  ops.add({.name = "NonMaxSuppression",
           .import = onnx::import_non_max_suppression});
}

}  // namespace weft
