#include "weft/onnx/value.h"

#include <algorithm>
#include <array>

#include "weft/ops/constant.h"
#include "weft/ops/join.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft::onnx {
namespace {

// Whether what is computed from `value` here will be valid wherever `value` is:
// in a branch or a loop it is that body's own.
bool is_at_home(const Value& value) {
  return value.is_staged() && value.builder() == current_context().builder();
}

Shape permuted(const Shape& shape, const Integers& order) {
  Shape result;
  for (const std::int64_t axis : order) {
    result.push_back(shape[static_cast<int>(axis)]);
  }
  return result;
}

// A dim as a number of the graph, once its symbols are known.
Value staged_extent(const Extent& extent) {
  if (!extent.is_symbolic) {
    return Value(Tensor::of<std::int64_t>({1}, {extent.value}));
  }
  return reshape(element_count({extent.value}, DType::kI64), {1});
}

}  // namespace

Value reshaped(const Value& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  const bool is_known = !x.is_staged() && shape.is_static();
  return is_known ? Value(x.tensor().reshape(shape)) : reshape(x, shape);
}

Value reordered(const Value& x, const Integers& order) {
  const Shape& shape = x.shape();
  Integers longer;
  for (const std::int64_t axis : order) {
    if (shape[static_cast<int>(axis)] != 1) longer.push_back(axis);
  }
  if (std::ranges::is_sorted(longer)) {
    return reshaped(x, permuted(shape, order));
  }
  return transpose(x, order);
}

struct OnnxValue::State {
  Value plain;
  Value last;
  Extents extents;
  TensorType extents_type;
  std::shared_ptr<const Quantized> quantized;
  std::optional<std::vector<OnnxValue>> elements;
  bool is_nothing = false;
};

OnnxValue::OnnxValue(Value value) : state_(std::make_shared<State>()) {
  state_->plain = std::move(value);
}

OnnxValue OnnxValue::channels_last(Value value) {
  OnnxValue result{Value()};
  result.state_->last = std::move(value);
  return result;
}

OnnxValue OnnxValue::of(Extents extents, bool is_scalar, DType dtype) {
  WEFT_CHECK(!is_scalar || extents.size() == 1);
  Shape shape;
  if (!is_scalar) shape.push_back(static_cast<Dim>(extents.size()));
  const bool has_symbols = std::ranges::any_of(extents, &Extent::is_symbolic);
  if (!has_symbols) {
    Tensor tensor = Tensor::empty({DType::kI64, shape});
    for (std::size_t i = 0; i < extents.size(); ++i) {
      tensor.data<std::int64_t>()[i] = extents[i].value;
    }
    if (dtype == DType::kI64) return Value(tensor);
    const ContextScope eager(eager_context());
    return cast(Value(tensor), dtype);
  }
  OnnxValue result{Value()};
  result.state_->extents = std::move(extents);
  result.state_->extents_type = {dtype, shape};
  return result;
}

OnnxValue OnnxValue::dequantized(OnnxValue value, Quantized from) {
  value.state_->quantized = std::make_shared<Quantized>(std::move(from));
  return value;
}

OnnxValue OnnxValue::sequence(std::vector<OnnxValue> elements) {
  OnnxValue result{Value()};
  result.state_->elements = std::move(elements);
  return result;
}

OnnxValue OnnxValue::nothing() {
  OnnxValue result{Value()};
  result.state_->is_nothing = true;
  return result;
}

bool OnnxValue::is_nothing() const { return state_ && state_->is_nothing; }

const std::vector<OnnxValue>* OnnxValue::elements() const {
  return state_ && state_->elements ? &*state_->elements : nullptr;
}

void OnnxValue::expect_tensor() const {
  if (!state_->elements && !state_->is_nothing) return;
  throw Error(ErrorCode::kUnsupported, "",
              "{} stands where only a tensor can be",
              state_->elements ? "a sequence" : "an optional without a value");
}

TensorType OnnxValue::type() const {
  expect_tensor();
  if (state_->plain.is_defined()) return state_->plain.type();
  if (!state_->last.is_defined()) return state_->extents_type;
  const TensorType& type = state_->last.type();
  return {type.dtype,
          permuted(type.shape, to_channels_first(type.shape.rank()))};
}

Value OnnxValue::plain() const {
  expect_tensor();
  if (state_->plain.is_defined()) return state_->plain;
  if (state_->last.is_defined()) {
    Value made =
        reordered(state_->last, to_channels_first(state_->last.shape().rank()));
    if (is_at_home(state_->last)) state_->plain = made;
    return made;
  }
  std::vector<Value> numbers;
  for (const Extent& extent : state_->extents) {
    numbers.push_back(staged_extent(extent));
  }
  const Value all = numbers.size() == 1 ? numbers[0] : concat(numbers, 0);
  return reshape(to_dtype(all, state_->extents_type.dtype),
                 state_->extents_type.shape);
}

Value OnnxValue::last() const {
  if (state_->last.is_defined()) return state_->last;
  const Value source = plain();
  if (source.shape().rank() < 2) {
    throw Error(ErrorCode::kDataLoss, "", "no channels in {}",
                to_string(source.shape()));
  }
  Value made = reordered(source, to_channels_last(source.shape().rank()));
  if (is_at_home(source) && state_->plain.is_defined()) state_->last = made;
  return made;
}

bool OnnxValue::is_channels_last() const {
  return state_ && state_->last.is_defined() && !state_->plain.is_defined();
}

bool OnnxValue::is_known() const {
  if (const auto* all = elements()) {
    return std::ranges::all_of(*all, &OnnxValue::is_known);
  }
  return state_ && state_->plain.is_defined() && !state_->plain.is_staged();
}

bool OnnxValue::is_symbolic() const {
  return state_ && !state_->extents.empty();
}

std::optional<Extents> OnnxValue::extents() const {
  if (is_symbolic()) return state_->extents;
  if (!is_known() || elements() != nullptr) return std::nullopt;
  const Tensor& tensor = state_->plain.tensor();
  if (tensor.shape().rank() > 1 || !is_integer(tensor.dtype())) {
    return std::nullopt;
  }
  Extents result;
  dispatch(tensor.dtype(), [&]<class T>(T) {
    // Only integers come here; others could not be converted.
    if constexpr (std::is_integral_v<T>) {
      for (const T number : tensor.span<T>()) {
        result.push_back({static_cast<std::int64_t>(number)});
      }
    }
  });
  return result;
}

const Quantized* OnnxValue::quantized() const {
  return state_ ? state_->quantized.get() : nullptr;
}

Integers to_channels_last(int rank) {
  Integers order{0};
  for (int axis = 2; axis < rank; ++axis) order.push_back(axis);
  order.push_back(1);
  return order;
}

Integers to_channels_first(int rank) {
  Integers order{0, rank - 1};
  for (int axis = 1; axis < rank - 1; ++axis) order.push_back(axis);
  return order;
}

}  // namespace weft::onnx
