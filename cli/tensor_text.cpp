#include "cli/tensor_text.h"

#include "cli/report.h"

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

void flatten(const Json& json, const Shape& shape, int axis,
             std::vector<double>& numbers) {
  // All go through double, which is exact for integers up to 2^53.
  if (axis == shape.rank()) {
    if (json.is_boolean()) {
      numbers.push_back(json.get<bool>() ? 1 : 0);
    } else {
      numbers.push_back(json.get<double>());
    }
    return;
  }
  // The shape was read from first elements alone, so every list is checked.
  if (!json.is_array() || static_cast<Dim>(json.size()) != shape[axis]) {
    throw Error(ErrorCode::kInvalidArgument, "run",
                "the rows of an input are not equally long");
  }
  for (const Json& each : json) flatten(each, shape, axis + 1, numbers);
}

}  // namespace

Tensor parse_tensor(const std::string& text, DType dtype) {
  try {
    const Json json = Json::parse(text);
    const Shape shape = shape_of(json);
    std::vector<double> numbers;
    flatten(json, shape, 0, numbers);
    Tensor tensor = Tensor::empty({dtype, shape});
    dispatch(dtype, [&]<class T>(T) {
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        // bf16 and f16 are made from f32 alone.
        if constexpr (std::is_class_v<T>) {
          tensor.data<T>()[i] = T(static_cast<float>(numbers[i]));
        } else {
          tensor.data<T>()[i] = static_cast<T>(numbers[i]);
        }
      }
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
