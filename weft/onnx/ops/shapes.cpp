// Ops that look at shapes, and those that give the same elements another one.
#include <algorithm>

#include "weft/base/index.h"
#include "weft/onnx/elementwise.h"
#include "weft/onnx/extents.h"
#include "weft/ops/join.h"
#include "weft/ops/shape.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft::onnx {
namespace {

void import_shape(OnnxNode& node) {
  const Shape shape = node.operand(0).type().shape;
  const std::int64_t rank = shape.rank();
  const auto place = [&](const char* name, std::int64_t otherwise) {
    const std::int64_t given = node.integer(name, otherwise);
    return std::clamp<std::int64_t>(given < 0 ? given + rank : given, 0, rank);
  };
  Extents extents;
  for (std::int64_t i = place("start", 0); i < place("end", rank); ++i) {
    extents.push_back(Extent::of(shape[static_cast<int>(i)]));
  }
  node.set(OnnxValue::of(std::move(extents), false, DType::kI64));
}

void import_size(OnnxNode& node) {
  const Dim size = dim_product(node.operand(0).type().shape.dims());
  node.set(OnnxValue::of({Extent::of(size)}, true, DType::kI64));
}

void import_reshape(OnnxNode& node) {
  // Before opset 5 the shape was an attribute.
  Extents wanted;
  if (node.has(1)) {
    wanted = node.extents(1);
  } else {
    for (const std::int64_t dim : node.integers("shape")) {
      wanted.push_back({dim});
    }
  }
  // Numbers of a shape stay what they are.
  if (node.operand(0).is_symbolic()) {
    const bool is_scalar = wanted.empty();
    if (is_scalar || wanted.size() == 1) {
      return node.set(OnnxValue::of(*node.operand(0).extents(), is_scalar,
                                    node.operand(0).type().dtype));
    }
  }
  const Shape from = node.operand(0).type().shape;
  const bool keeps_zero = node.integer("allowzero", 0) != 0;
  Shape to;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Extent& extent = wanted[i];
    if (!extent.is_symbolic && extent.value == 0 && !keeps_zero) {
      if (static_cast<int>(i) >= from.rank()) {
        throw node.damaged("dim {} is to be that of the operand, which has {}",
                           i, from.rank());
      }
      to.push_back(from[static_cast<int>(i)]);
      continue;
    }
    if (!extent.is_symbolic && extent.value < -1) {
      throw node.damaged("a dim is {}", extent.value);
    }
    to.push_back(extent.value);  // -1 means to the engine what it does to ONNX
  }
  node.set(reshaped(node.input(0), to));
}

void import_flatten(OnnxNode& node) {
  const Shape shape = node.operand(0).type().shape;
  const std::int64_t given = node.integer("axis", 1);
  const std::int64_t axis = given < 0 ? given + shape.rank() : given;
  if (axis < 0 || axis > shape.rank()) {
    throw node.damaged("axis {} of {}", given, shape.rank());
  }
  const int leading = static_cast<int>(axis);
  node.set(reshaped(node.input(0),
                    {dim_product(shape.first(leading)),
                     dim_product(shape.last(shape.rank() - leading))}));
}

std::vector<int> checked_axes_of(const OnnxNode& node, const Integers& axes,
                                 int rank) {
  std::vector<int> result;
  for (const std::int64_t axis : axes) {
    result.push_back(normalize_axis(axis, rank, node.op()));
  }
  std::ranges::sort(result);
  if (std::ranges::adjacent_find(result) != result.end()) {
    throw node.damaged("an axis is named twice");
  }
  return result;
}

void import_squeeze(OnnxNode& node) {
  const OnnxValue& x = node.operand(0);
  if (x.is_symbolic()) {
    if (x.extents()->size() != 1) throw node.damaged("drops a longer axis");
    return node.set(OnnxValue::of(*x.extents(), true, x.type().dtype));
  }
  const Shape shape = x.type().shape;
  const auto given = node.integers("axes", 1);
  std::vector<int> axes;
  if (given) {
    axes = checked_axes_of(node, *given, shape.rank());
  } else {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] == 1) axes.push_back(axis);
    }
  }
  Shape to;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!std::ranges::binary_search(axes, axis)) to.push_back(shape[axis]);
  }
  node.set(reshaped(x.plain(), to));
}

void import_unsqueeze(OnnxNode& node) {
  const OnnxValue& x = node.operand(0);
  const auto given = node.integers("axes", 1);
  if (!given) throw node.damaged("'axes' are missing");
  if (x.is_symbolic() && x.rank() == 0 && given->size() == 1) {
    return node.set(OnnxValue::of(*x.extents(), false, x.type().dtype));
  }
  const Shape shape = x.type().shape;
  const int rank = shape.rank() + static_cast<int>(given->size());
  const std::vector<int> axes = checked_axes_of(node, *given, rank);
  Shape to;
  for (int axis = 0, next = 0; axis < rank; ++axis) {
    to.push_back(std::ranges::binary_search(axes, axis) ? 1 : shape[next++]);
  }
  node.set(reshaped(x.plain(), to));
}

// An order that only says where channels stand costs nothing.
void import_transpose(OnnxNode& node) {
  const OnnxValue& x = node.operand(0);
  const int rank = x.rank();
  Integers order = node.integers("perm");
  if (order.empty()) {
    for (int axis = rank; axis-- > 0;) order.push_back(axis);
  }
  if (std::ssize(order) != rank) {
    throw node.damaged("an order of {} axes for {}", order.size(), rank);
  }
  checked_axes_of(node, order, rank);
  if (rank >= 3 && x.is_channels_last() && order == to_channels_last(rank)) {
    return node.set(x.last());
  }
  if (rank >= 3 && !x.is_known() && order == to_channels_first(rank)) {
    return node.set(OnnxValue::channels_last(x.plain()));
  }
  node.set(reordered(x.plain(), order));
}

// Larger results are made in the graph, also of what is known.
constexpr std::int64_t kMostFolded = 1 << 20;

bool is_foldable(const Shape& shape) {
  double elements = 1;
  for (const Dim dim : shape) {
    if (is_symbolic(dim)) return false;
    elements *= static_cast<double>(dim);
  }
  return elements <= static_cast<double>(kMostFolded);
}

// It broadcasts both ways: a dim of 1 leaves that of the operand.
void import_expand(OnnxNode& node) {
  const Shape wanted = shape_of(node.extents(1));
  const Shape from = node.operand(0).type().shape;
  Shape to;
  to.resize(std::max(wanted.rank(), from.rank()), 1);
  for (int back = 1; back <= to.rank(); ++back) {
    Dim& dim = to[to.rank() - back];
    if (back <= from.rank()) dim = from[from.rank() - back];
    if (back > wanted.rank()) continue;
    const Dim other = wanted[wanted.rank() - back];
    if (other != 1) dim = other;
  }
  const ContextScope scope(is_foldable(to) ? current_context()
                                           : node.graph_context());
  const Value x = node.input(0);
  node.set(x.shape() == to ? x : broadcast_to(x, to));
}

void import_tile(OnnxNode& node) {
  const Extents repeats = node.extents(1);
  const Value x = node.input(0);
  const int rank = x.shape().rank();
  if (static_cast<int>(repeats.size()) != rank) {
    throw node.damaged("{} repeats for {} axes", repeats.size(), rank);
  }
  // [a, b] becomes [1, a, 1, b], and each 1 is repeated.
  Shape apart;
  Shape repeated;
  Shape whole;
  for (int axis = 0; axis < rank; ++axis) {
    const Dim count = shape_of({repeats[at(axis)]})[0];
    whole.push_back(dim_multiply(x.shape()[axis], count));
    if (count == 1) {
      apart.push_back(x.shape()[axis]);
      repeated.push_back(x.shape()[axis]);
      continue;
    }
    apart.push_back(1);
    apart.push_back(x.shape()[axis]);
    repeated.push_back(count);
    repeated.push_back(x.shape()[axis]);
  }
  const ContextScope scope(is_foldable(whole) ? current_context()
                                              : node.graph_context());
  node.set(reshape(broadcast_to(reshape(x, apart), repeated), whole));
}

void import_concat(OnnxNode& node) {
  const std::size_t count = node.operand_count();
  std::size_t symbolic = 0;
  bool are_extents = true;
  bool is_image = false;
  for (std::size_t i = 0; i < count; ++i) {
    symbolic += node.operand(i).is_symbolic() ? 1u : 0u;
    are_extents = are_extents && node.operand(i).extents().has_value();
    is_image = is_image || node.operand(i).is_channels_last();
  }
  if (are_extents && symbolic > 0) {
    Extents all;
    for (std::size_t i = 0; i < count; ++i) {
      const Extents part = node.extents(i);
      all.insert(all.end(), part.begin(), part.end());
    }
    return node.set(
        OnnxValue::of(std::move(all), false, node.operand(0).type().dtype));
  }
  const int rank = node.operand(0).rank();
  const int axis = node.axis("axis", 1, rank);
  std::vector<Value> parts;
  for (std::size_t i = 0; i < count; ++i) {
    parts.push_back(is_image ? node.operand(i).last() : node.input(i));
  }
  if (is_image) {
    return node.set(OnnxValue::channels_last(
        concat(parts, axis_with_channels_last(axis, rank))));
  }
  node.set(concat(parts, axis));
}

void import_split(OnnxNode& node) {
  const OnnxValue& whole = node.operand(0);
  const int axis = node.axis("axis", 0, whole.rank());
  const Dim size = whole.type().shape[axis];
  auto sizes = node.integers("split", 1);
  if (!sizes) {
    if (is_symbolic(size)) {
      throw node.unsupported("splits {}, which is not known, into equal parts",
                             to_string(size));
    }
    const auto count = static_cast<std::int64_t>(node.result_count());
    const std::int64_t parts = node.integer("num_outputs", count);
    if (parts < 1 || parts > 1 << 20) throw node.damaged("{} parts", parts);
    const std::int64_t part = (size + parts - 1) / parts;
    sizes.emplace();
    // The last part is smaller where the parts cannot be equal.
    for (std::int64_t i = 0; i < count; ++i) {
      sizes->push_back(std::clamp<std::int64_t>(size - i * part, 0, part));
    }
  }
  const InPlace x(whole);
  const auto parts = split(x.value, *sizes, x.axis(axis));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    node.set(i, x.result(parts[i]));
  }
}

void import_identity(OnnxNode& node) { node.set(node.operand(0)); }

// Blocks of pixels go to channels, or come from there.
Value moved(const Value& x, const Shape& apart, const Integers& order,
            const Shape& joined) {
  return reshape(transpose(reshape(x, apart), order), joined);
}

void import_depth_to_space(OnnxNode& node) {
  const std::int64_t b = node.integer("blocksize");
  const Value x = node.input(0);
  const Shape s = x.shape();
  if (s.rank() != 4 || b < 1 || !dim_divide_exactly(s[1], b * b)) {
    throw node.damaged("blocks of {} in {}", b, to_string(s));
  }
  const Dim channels = *dim_divide_exactly(s[1], b * b);
  const Shape joined{s[0], channels, dim_multiply(s[2], b),
                     dim_multiply(s[3], b)};
  const std::string mode = node.text("mode", "DCR");
  if (mode == "CRD") {
    return node.set(moved(x, {s[0], channels, b, b, s[2], s[3]},
                          {0, 1, 4, 2, 5, 3}, joined));
  }
  if (mode != "DCR") throw node.damaged("there is no mode '{}'", mode);
  node.set(
      moved(x, {s[0], b, b, channels, s[2], s[3]}, {0, 3, 4, 1, 5, 2}, joined));
}

void import_space_to_depth(OnnxNode& node) {
  const std::int64_t b = node.integer("blocksize");
  const Value x = node.input(0);
  const Shape s = x.shape();
  if (s.rank() != 4 || b < 1 || !dim_divide_exactly(s[2], b) ||
      !dim_divide_exactly(s[3], b)) {
    throw node.damaged("blocks of {} in {}", b, to_string(s));
  }
  const Dim rows = *dim_divide_exactly(s[2], b);
  const Dim columns = *dim_divide_exactly(s[3], b);
  const Shape joined{s[0], dim_multiply(s[1], b * b), rows, columns};
  const Shape apart{s[0], s[1], rows, b, columns, b};
  const std::string mode = node.text("mode", "DCR");
  node.set(moved(
      x, apart,
      mode == "CRD" ? Integers{0, 1, 3, 5, 2, 4} : Integers{0, 3, 5, 1, 2, 4},
      joined));
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_shapes(OnnxRegistry& ops) {
  using namespace onnx;
  ops.add({.name = "Shape", .since = 1, .import = import_shape});
  ops.add({.name = "Size", .since = 1, .import = import_size});
  ops.add({.name = "Reshape", .since = 1, .import = import_reshape});
  ops.add({.name = "Flatten", .since = 1, .import = import_flatten});
  ops.add({.name = "Squeeze", .since = 1, .import = import_squeeze});
  ops.add({.name = "Unsqueeze", .import = import_unsqueeze});
  ops.add({.name = "Transpose", .since = 1, .import = import_transpose});
  ops.add({.name = "Expand", .import = import_expand});
  ops.add({.name = "Tile", .since = 6, .import = import_tile});
  ops.add({.name = "Concat", .since = 1, .import = import_concat});
  ops.add({.name = "Split", .since = 2, .import = import_split});
  ops.add({.name = "Identity", .since = 1, .import = import_identity});
  ops.add({.name = "DepthToSpace", .import = import_depth_to_space});
  ops.add({.name = "SpaceToDepth", .import = import_space_to_depth});
}

}  // namespace weft
