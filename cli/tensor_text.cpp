#include "cli/tensor_text.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "cli/report.h"

#include "weft/tensor/round_to_odd.h"

namespace weft::cli {
namespace {

// The shape of nested arrays, each as long as its first neighbour.
Shape shape_of(const Json& json) {
  Shape shape;
  for (const Json* at = &json; at->is_array(); at = &at->front()) {
    shape.push_back(static_cast<Dim>(at->size()));
    // An empty list has no neighbour to go into.
    if (at->empty()) break;
  }
  return shape;
}

[[noreturn]] void fail_outside(const Json& json, DType dtype) {
  throw Error(ErrorCode::kInvalidArgument, "run",
              "{} is outside of the range of {}", json.dump(),
              to_string(dtype));
}

template <class T>
T integer_of(const Json& json, DType dtype) {
  if (json.is_boolean()) return json.get<bool>() ? 1 : 0;
  if (json.is_number_float()) {
    throw Error(ErrorCode::kInvalidArgument, "run",
                "{} is no integer, and the input is {}", json.dump(),
                to_string(dtype));
  }
  constexpr std::uint64_t kMost = std::numeric_limits<T>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<T>::min();
  const bool is_outside = json.is_number_unsigned()
                              ? json.get<std::uint64_t>() > kMost
                              : json.get<std::int64_t>() < kLeast;
  if (is_outside) fail_outside(json, dtype);
  return static_cast<T>(json.get<std::int64_t>());
}

template <class T>
T floating_of(const Json& json, DType dtype) {
  const double wide =
      json.is_boolean() ? double(json.get<bool>()) : json.get<double>();
  if constexpr (std::is_same_v<T, double>) {
    return wide;
  } else {
    // Halves are made from f32 alone, and rounded once all the same.
    const T value(std::is_same_v<T, float> ? static_cast<float>(wide)
                                           : round_to_odd(wide));
    if (!std::isfinite(static_cast<float>(value))) fail_outside(json, dtype);
    return value;
  }
}

template <class T>
T element_of(const Json& json, DType dtype) {
  if constexpr (std::is_integral_v<T>) {
    return integer_of<T>(json, dtype);
  } else {
    return floating_of<T>(json, dtype);
  }
}

// Appends the numbers to `out`, in row-major order.
template <class T>
void flatten(const Json& json, const TensorType& type, int axis, T*& out) {
  const Shape& shape = type.shape;
  if (axis == shape.rank()) {
    *out++ = element_of<T>(json, type.dtype);
    return;
  }
  // The shape was read from first elements alone, so every list is checked.
  if (!json.is_array() || static_cast<Dim>(json.size()) != shape[axis]) {
    throw Error(ErrorCode::kInvalidArgument, "run",
                "the rows of an input are not equally long");
  }
  for (const Json& each : json) flatten(each, type, axis + 1, out);
}

}  // namespace

Tensor parse_tensor(const std::string& text, DType dtype) {
  try {
    const Json json = Json::parse(text);
    Tensor tensor = Tensor::empty({dtype, shape_of(json)});
    dispatch(dtype, [&]<class T>(T) {
      T* next = tensor.data<T>();
      flatten(json, tensor.type(), 0, next);
    });
    return tensor;
  } catch (const nlohmann::json::exception&) {
    // Text that is no JSON, and JSON that is no number, are one mistake to the
    // user.
    throw Error(ErrorCode::kInvalidArgument, "run",
                "'{}' is neither a number nor nested lists of numbers", text)
        .hint("--input x=[[1, 2], [3, 4]]");
  }
}

std::map<std::string, std::string> named_texts(
    const std::string& option, const std::vector<std::string>& inputs) {
  std::map<std::string, std::string> texts;
  for (const std::string& input : inputs) {
    // Only the first sign counts: the value may hold others.
    const auto equals = input.find('=');
    if (equals == input.npos) {
      throw Error(ErrorCode::kInvalidArgument, option,
                  "takes NAME=VALUE, not '{}'", input);
    }
    texts[input.substr(0, equals)] = input.substr(equals + 1);
  }
  return texts;
}

}  // namespace weft::cli
