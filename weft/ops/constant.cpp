#include "weft/ops/constant.h"

#include "weft/graph/builder.h"
#include "weft/graph/registry.h"
#include "weft/ops/support/onnx.h"
#include "weft/tensor/holds.h"

namespace weft {
namespace {

// Copies one element over the whole of `view`. It copies bytes, so that one
// loop serves all dtypes.
void fill(const TensorView& view, const Tensor& element) {
  const std::size_t size = size_of(view.dtype());
  auto* bytes = static_cast<std::byte*>(view.data);
  for (std::int64_t i = 0; i < view.size(); ++i) {
    std::memcpy(bytes + static_cast<std::size_t>(i) * size, element.raw(),
                size);
  }
}

void constant_reference(const OpCall& call, std::span<const TensorView>,
                        std::span<const TensorView> outputs) {
  const auto& value = call.attributes.get<Tensor>("value");
  // An empty tensor may have no memory, and memcpy of null is undefined.
  if (value.bytes() > 0) {
    std::memcpy(outputs[0].data, value.raw(), value.bytes());
  }
}

std::vector<TensorType> infer_full(const OpCall& call) {
  const auto dtype = call.attributes.get<DType>("dtype");
  const double value = call.attributes.real("value");
  if (!holds(dtype, value)) {
    throw call.error("{} does not fit {}", value, to_string(dtype));
  }
  return {{dtype, call.attributes.get<Shape>("shape")}};
}

// The number is rounded to the dtype once. A graph keeps it as an attribute
// rather than as a tensor, so the shape may be symbolic and the graph does not
// grow with it.
void full_reference(const OpCall& call, std::span<const TensorView>,
                    std::span<const TensorView> outputs) {
  fill(outputs[0],
       Tensor::scalar(call.attributes.real("value"), outputs[0].dtype()));
}

void iota_reference(const OpCall&, std::span<const TensorView>,
                    std::span<const TensorView> outputs) {
  const TensorView& y = outputs[0];
  dispatch(y.dtype(), [&]<class T>(T) {
    for (std::int64_t i = 0; i < y.size(); ++i) {
      // bf16 and f16 are classes, and made from f32 alone.
      if constexpr (std::is_class_v<T>) {
        y.as<T>()[i] = T(static_cast<float>(i));
      } else {
        // Small integers wrap around, as NumPy's casts do.
        y.as<T>()[i] = static_cast<T>(i);
      }
    }
  });
}

void export_full(OnnxContext& c) {
  const TensorType& type = c.call().outputs[0];
  const Tensor value =
      Tensor::scalar(c.attributes().real("value"), type.dtype).reshape({1});
  if (type.shape.is_scalar()) return c.set(c.constant(value.reshape({})));
  c.set(c.emit("ConstantOfShape", {c.shape(type.shape)}, {{"value", value}}));
}

void export_iota(OnnxContext& c) {
  const TensorType& type = c.call().outputs[0];
  const std::string count = c.emit("ReduceSum", {c.shape(type.shape)},
                                   {{"keepdims", std::int64_t{0}}});
  const std::string y = c.emit(
      "Range", {c.number(0, DType::kI64), count, c.number(1, DType::kI64)});
  c.set(type.dtype == DType::kI64 ? y
                                  : c.emit("Cast", {y}, {{"to", type.dtype}}));
}

}  // namespace

void register_constant(OpRegistry& ops) {
  ops.add("constant")
      .summary("a tensor that stands in the graph")
      .signature("() -> y")
      .required("value", Tensor())
      // Without operands there is nothing that a gradient could flow to.
      .traits(kNoGradient)
      .infer([](const OpCall& call) {
        return std::vector{call.attributes.get<Tensor>("value").type()};
      })
      .reference(constant_reference)
      .cost([](const OpCall& call) { return Cost::of(call, 0); })
      .samples([] {
        return std::vector<OpSample>{
            {{}, {{"value", Tensor::of<float>({2}, {1, 2})}}}};
      });
  ops.add("full")
      .summary("a tensor whose elements are all one number")
      .signature("() -> y")
      .required("shape", Shape())
      .required("value", 0.0)
      .attribute("dtype", DType::kF32)
      .traits(kNoGradient)
      .infer(infer_full)
      .reference(full_reference)
      .onnx(export_full)
      .cost([](const OpCall& call) { return Cost::of(call, 0); })
      .samples([] {
        return std::vector<OpSample>{
            {{}, {{"shape", Shape{3, 2}}, {"value", 1.5}}},
            {{}, {{"shape", Shape{4}}, {"value", 7.0}, {"dtype", DType::kI32}}},
            {{}, {{"shape", Shape{0}}, {"value", 0.0}}}};
      });
  ops.add("iota")
      .summary("0, 1, 2, … as a vector")
      .signature("() -> y")
      .required("shape", Shape())
      .attribute("dtype", DType::kI64)
      .traits(kNoGradient)
      .infer([](const OpCall& call) {
        const auto& shape = call.attributes.get<Shape>("shape");
        // The size is a shape of one dim rather than a number, so that it may
        // be symbolic.
        if (shape.rank() != 1) throw call.error("makes a vector");
        return std::vector{
            TensorType{call.attributes.get<DType>("dtype"), shape}};
      })
      .reference(iota_reference)
      .onnx(export_iota)
      .cost([](const OpCall& call) { return Cost::of(call, 0); })
      .samples([] {
        return std::vector<OpSample>{{{}, {{"shape", Shape{5}}}}};
      });
}

Value full(const TensorType& type, double value, std::source_location where) {
  static const OpDef& op = op_registry().get("full");
  return call(op, {},
              {{"shape", type.shape}, {"value", value}, {"dtype", type.dtype}},
              where);
}

// A number of a program that is being built belongs to its graph: the builder
// makes a node of it, while a free tensor might become an input.
Value scalar(double value, DType dtype) {
  if (!holds(dtype, value)) {
    throw Error(ErrorCode::kInvalidArgument, "scalar", "{} does not fit {}",
                value, to_string(dtype))
        .hint("cast to a wider dtype first");
  }
  const Tensor tensor = Tensor::scalar(value, dtype);
  FunctionBuilder* builder = current_context().builder();
  return builder != nullptr ? builder->constant(tensor) : Value(tensor);
}

Value iota(Dim size, DType dtype, std::source_location where) {
  static const OpDef& op = op_registry().get("iota");
  return call(op, {}, {{"shape", Shape{size}}, {"dtype", dtype}}, where);
}

}  // namespace weft
