#include "weft/ops/shape.h"

#include <algorithm>

#include "weft/graph/gradient.h"
#include "weft/graph/registry.h"
#include "weft/ops/support/axes.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/moves.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/samples.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

void reshape_reference(const OpCall&, std::span<const TensorView> inputs,
                       std::span<const TensorView> outputs) {
  const std::size_t bytes = inputs[0].type.bytes();
  // A plan may give a view the memory of its source.
  // An empty tensor may have no memory at all.
  if (bytes > 0 && outputs[0].data != inputs[0].data) {
    std::memcpy(outputs[0].data, inputs[0].data, bytes);
  }
}

Integers resolved_permutation(const Attributes& attributes, int rank) {
  Integers order = attributes.integers("permutation");
  // No order given means all axes reversed, as in NumPy.
  if (order.empty()) {
    for (int axis = rank - 1; axis >= 0; --axis) order.push_back(axis);
  }
  for (std::int64_t& axis : order) axis = resolved_axis(axis, rank);
  return order;
}

void transpose_reference(const OpCall& call, std::span<const TensorView> inputs,
                         std::span<const TensorView> outputs) {
  const auto strides = row_major_strides(inputs[0].shape());
  const Integers order =
      resolved_permutation(call.attributes, inputs[0].shape().rank());
  const Shape& shape = outputs[0].shape();
  for_each_index(shape, [&](std::int64_t i, const MultiIndex& index) {
    std::int64_t source = 0;
    // Axis i of y is axis order[i] of x, so it moves by that axis's stride.
    for (int axis = 0; axis < shape.rank(); ++axis) {
      source +=
          index[at(axis)] * strides[static_cast<std::size_t>(order[at(axis)])];
    }
    copy_element(outputs[0], i, inputs[0], source);
  });
}

void broadcast_reference(const OpCall&, std::span<const TensorView> inputs,
                         std::span<const TensorView> outputs) {
  const BroadcastIndex source(inputs[0].shape(), outputs[0].shape());
  for (std::int64_t i = 0; i < outputs[0].size(); ++i) {
    copy_element(outputs[0], i, inputs[0], source(i));
  }
}

std::vector<TensorType> infer_reshape(const OpCall& call) {
  const TensorType& x = call.input(0);
  const Shape& shape = call.attributes.get<Shape>("shape");
  // Sizes are compared as polynomials: symbolic shapes are refused unless they
  // agree whatever the symbols stand for.
  // A wrong count would have a kernel read beyond x's memory.
  if (dim_product(shape.dims()) != dim_product(x.shape.dims())) {
    throw call
        .error("{} elements do not fill {}",
               to_string(dim_product(x.shape.dims())), to_string(shape))
        .hint("the product of the dims must stay; one of them may be -1");
  }
  return {{x.dtype, shape}};
}

std::vector<TensorType> infer_transpose(const OpCall& call) {
  const TensorType& x = call.input(0);
  const int rank = x.shape.rank();
  const Integers& order = call.attributes.integers("permutation");
  if (!order.empty() && order.size() != at(rank)) {
    throw call.error("a permutation of {} axes names {}", rank, order.size());
  }
  // The list has one entry for each axis, so if none comes twice, all are
  // there.
  if (!order.empty()) checked_axes(call, order, rank);
  TensorType y{x.dtype, {}};
  for (const std::int64_t axis : resolved_permutation(call.attributes, rank)) {
    y.shape.push_back(x.shape[static_cast<int>(axis)]);
  }
  return {y};
}

std::vector<TensorType> infer_broadcast_to(const OpCall& call) {
  const TensorType& x = call.input(0);
  const Shape& shape = call.attributes.get<Shape>("shape");
  // Axes that x does not have are new, and repeat all of it.
  const int extra = shape.rank() - x.shape.rank();
  bool fits = extra >= 0;
  for (int axis = 0; fits && axis < x.shape.rank(); ++axis) {
    fits = x.shape[axis] == 1 || x.shape[axis] == shape[axis + extra];
  }
  if (!fits) {
    throw call.error("does not broadcast to {}", to_string(shape))
        .hint("aligned at the last axis, dims must be equal or 1");
  }
  return {{x.dtype, shape}};
}

Gradients reshape_gradient(const GradientContext& g) {
  return {reshape(g.dy(), g.x(0).shape())};
}

// The transpose of a permutation is its inverse: order[i] goes back to i.
Gradients transpose_gradient(const GradientContext& g) {
  const Integers order =
      resolved_permutation(g.attributes(), g.x(0).shape().rank());
  Integers inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    // An axis that came from order[i] has to go back there.
    inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  }
  return {transpose(g.dy(), inverse)};
}

// An element was read as often as it was repeated, so its gradients add up.
Gradients broadcast_gradient(const GradientContext& g) {
  return {sum_to(g.dy(), g.x(0).shape())};
}

std::vector<Value> batch_reshape(const BatchContext& g) {
  const Shape& shape = g.call().outputs[0].shape;
  return {reshape(g.x(0), with_leading(g.size(), shape))};
}

std::vector<Value> batch_broadcast(const BatchContext& g) {
  const Shape& shape = g.call().outputs[0].shape;
  return {
      // aligned() puts axes of 1 between that of the instances and x's own, as
      // broadcasting would take the former for x's first axis otherwise.
      broadcast_to(aligned(g, 0, shape.rank()), with_leading(g.size(), shape))};
}

std::vector<Value> batch_transpose(const BatchContext& g) {
  Integers order = {0};
  for (const std::int64_t axis :
       resolved_permutation(g.attributes(), g.call().input(0).shape.rank())) {
    order.push_back(stacked_axis(axis));
  }
  return {transpose(g.x(0), order)};
}

std::vector<OpSample> reshape_samples() {
  return {{{floats({3, 4})}, {{"shape", Shape{2, 6}}}},
          {{floats({})}, {{"shape", Shape{1, 1}}}},
          {{floats({0, 3})}, {{"shape", Shape{3, 0, 2}}}},
          {{integers({6}, 0, 9)}, {{"shape", Shape{2, 3}}}},
          {{floats({8}, -1, 1, DType::kBF16)}, {{"shape", Shape{8, 1}}}}};
}

// Kernels move tiles of several elements: sides that are no multiple of theirs
// leave edges, for elements of each width.
std::vector<OpSample> transpose_samples() {
  const auto order = [](InputSample x, Integers permutation) {
    return OpSample{{std::move(x)}, {{"permutation", std::move(permutation)}}};
  };
  return {order(floats({3, 5}), {}),
          order(floats({2, 3, 4}), {1, 0, 2}),
          order(floats({2, 3, 4}), {0, -1, 1}),
          order(floats({}), {}),
          order(floats({1, 5, 1}), {2, 1, 0}),
          order(floats({0, 3}), {1, 0}),
          order(floats({67, 131}), {1, 0}),
          order(floats({3, 65, 34}), {2, 0, 1}),
          order(floats({2, 5, 7, 3}), {0, 3, 1, 2}),
          order(floats({70, 33}, -1, 1, DType::kBF16), {1, 0}),
          order(floats({17, 40}, -1, 1, DType::kF64), {1, 0}),
          order(integers({40, 33}, 0, 9, DType::kU8), {1, 0})};
}

// Axes are repeated in front, within and at the end, and none may be.
std::vector<OpSample> broadcast_samples() {
  const auto to = [](InputSample x, const Shape& shape) {
    return OpSample{{std::move(x)}, {{"shape", shape}}};
  };
  return {to(floats({3, 1}), {3, 5}),
          to(floats({}), {2, 3}),
          to(floats({4}), {2, 3, 4}),
          to(floats({1, 3, 1}), {2, 3, 2}),
          to(floats({1}), {0}),
          to(floats({2, 3}), {2, 3}),
          to(floats({130, 1}), {130, 70}),
          to(floats({5, 1}, -1, 1, DType::kBF16), {5, 9}),
          to(integers({1, 7}, 0, 9, DType::kU8), {3, 7})};
}

// Fills in a -1.
Shape without_rest(const Operand& x, Shape shape) {
  const TensorType& type = x.value->type();
  const auto rest = std::find(shape.begin(), shape.end(), -1);
  // Sizes may be symbolic: "N * 4" elements with a known 4 leave "N".
  std::optional<Dim> quotient;
  // With two unknown dims there would be many answers.
  if (std::count(shape.begin(), shape.end(), -1) == 1) {
    Dim known = 1;
    for (const Dim dim : shape) {
      if (dim != -1) known = dim_multiply(known, dim);
    }
    // Beside a dim of zero, any size would make zero elements.
    if (known != 0) {
      quotient = dim_divide_exactly(dim_product(type.shape.dims()), known);
    }
  }
  if (!quotient) {
    throw Error(ErrorCode::kInvalidArgument, "reshape",
                "no single size for -1 makes {} elements",
                to_string(dim_product(type.shape.dims())))
        .detail("input x: " + to_string(type))
        .detail("built at: " + to_string(Location(x.location)));
  }
  shape[static_cast<int>(rest - shape.begin())] = *quotient;
  return shape;
}

void export_reshape(OnnxContext& c) {
  const Shape& shape = c.attributes().get<Shape>("shape");
  // A dim of 0 is one, not that of the operand.
  c.set(c.emit("Reshape", {c.x(0), c.reshaped(shape)},
               {{"allowzero", std::int64_t{1}}}));
}

// An order that only says where channels stand is the other one of two names.
void export_transpose(OnnxContext& c) {
  const int rank = c.type(0).shape.rank();
  const Integers order = resolved_permutation(c.attributes(), rank);
  Integers to_last = {0};
  Integers to_first = {0, rank - 1};
  for (int axis = 1; axis < rank - 1; ++axis) {
    to_last.push_back(axis + 1);
    to_first.push_back(axis);
  }
  to_last.push_back(1);
  if (rank >= 3 && order == to_first && c.is_image(0)) {
    return c.set(c.image(0));
  }
  if (rank >= 3 && order == to_last && c.call().known_input(0) == nullptr) {
    return c.set_image(c.x(0));
  }
  c.set(transposed_operand(c, 0, order));
}

void export_broadcast_to(OnnxContext& c) {
  c.set(
      c.emit("Expand", {c.x(0), c.shape(c.attributes().get<Shape>("shape"))}));
}

}  // namespace

void register_shape(OpRegistry& ops) {
  add_mover(ops, "reshape")
      .summary("the same elements under another shape")
      .required("shape", Shape())
      // A plan gives a view its source's memory (kView), so it moves nothing.
      .traits(kView)
      .infer(infer_reshape)
      .reference(reshape_reference)
      .gradient(reshape_gradient)
      .batch(batch_reshape, sum_of_linear)
      .onnx(export_reshape)
      .cost([](const OpCall&) { return Cost{}; })
      .samples(reshape_samples);
  add_mover(ops, "transpose")
      .summary("axes in another order")
      .attribute("permutation", Integers{})
      .infer(infer_transpose)
      .reference(transpose_reference)
      .gradient(transpose_gradient)
      .batch(batch_transpose, sum_of_linear)
      .onnx(export_transpose)
      .samples(transpose_samples);
  add_mover(ops, "broadcast_to")
      .summary("repeats along axes of size 1 and new leading axes")
      .required("shape", Shape())
      .infer(infer_broadcast_to)
      .reference(broadcast_reference)
      .gradient(broadcast_gradient)
      .batch(batch_broadcast, sum_of_linear)
      .onnx(export_broadcast_to)
      .samples(broadcast_samples);
}

Value reshape(const Operand& x, const Shape& shape) {
  static const OpDef& op = op_registry().get("reshape");
  const bool has_rest =
      std::find(shape.begin(), shape.end(), -1) != shape.end();
  return call(op, {x.value},
              {{"shape", has_rest ? without_rest(x, shape) : shape}},
              x.location);
}

Value transpose(const Operand& x, Integers permutation) {
  static const OpDef& op = op_registry().get("transpose");
  return call(op, {x.value}, {{"permutation", std::move(permutation)}},
              x.location);
}

Value broadcast_to(const Operand& x, const Shape& shape) {
  // Nothing is recorded where nothing changes: gradient rules broadcast and sum
  // as a matter of course.
  if (x.value->shape() == shape) return *x.value;
  static const OpDef& op = op_registry().get("broadcast_to");
  return call(op, {x.value}, {{"shape", shape}}, x.location);
}

}  // namespace weft
