#include "weft/serve/grpc/messages.h"

#include <algorithm>
#include <limits>

#include "weft/serve/protocol/datatype.h"
#include "weft/serve/protocol/json_request.h"
#include "weft/serve/protocol/metadata.h"

namespace weft::serve {
namespace {

using inference::InferTensorContents;
using inference::ModelInferRequest;
using inference::ModelInferResponse;

// A list of numbers of the contents as elements of T, whose range they may
// leave: INT8 comes as 32 bits.
template <class T, class Numbers>
Tensor tensor_of_numbers(const TensorType& type, const Numbers& numbers,
                         const std::string& where) {
  Tensor tensor = Tensor::empty(type);
  if (numbers.size() != tensor.size()) {
    throw Refusal(Status::kBadRequest, where,
                  "{} elements do not fill {}, which has {}", numbers.size(),
                  to_string(type), tensor.size());
  }
  T* data = tensor.data<T>();
  for (int i = 0; i < numbers.size(); ++i) {
    const auto number = numbers[i];
    data[i] = static_cast<T>(number);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      if (std::in_range<T>(number)) continue;
      throw Refusal(Status::kBadRequest, fmt::format("{}[{}]", where, i),
                    "{} is outside of the range of {}, {} to {}", number,
                    protocol_name(type.dtype),
                    static_cast<std::int64_t>(std::numeric_limits<T>::min()),
                    static_cast<std::int64_t>(std::numeric_limits<T>::max()));
    }
  }
  return tensor;
}

Tensor tensor_of_contents(const TensorType& type,
                          const InferTensorContents& contents,
                          const std::string& where) {
  switch (type.dtype) {
    case DType::kBool:
      return tensor_of_numbers<bool>(type, contents.bool_contents(),
                                     where + ".bool_contents");
    case DType::kI8:
      return tensor_of_numbers<std::int8_t>(type, contents.int_contents(),
                                            where + ".int_contents");
    case DType::kI16:
      return tensor_of_numbers<std::int16_t>(type, contents.int_contents(),
                                             where + ".int_contents");
    case DType::kI32:
      return tensor_of_numbers<std::int32_t>(type, contents.int_contents(),
                                             where + ".int_contents");
    case DType::kI64:
      return tensor_of_numbers<std::int64_t>(type, contents.int64_contents(),
                                             where + ".int64_contents");
    case DType::kU8:
      return tensor_of_numbers<std::uint8_t>(type, contents.uint_contents(),
                                             where + ".uint_contents");
    case DType::kF32:
      return tensor_of_numbers<float>(type, contents.fp32_contents(),
                                      where + ".fp32_contents");
    case DType::kF64:
      return tensor_of_numbers<double>(type, contents.fp64_contents(),
                                       where + ".fp64_contents");
    case DType::kF16:
    case DType::kBF16:
      break;
  }
  throw Refusal(Status::kBadRequest, where, "{} comes as raw_input_contents",
                protocol_name(type.dtype));
}

// The least that an element takes in a message is a byte, of which up to eight
// become one in memory.
std::size_t most_bytes(const ModelInferRequest& request) {
  return 8 * request.ByteSizeLong();
}

template <class Element, class Field>
void append(const Tensor& tensor, Field& field) {
  const auto elements = tensor.span<Element>();
  field.Reserve(static_cast<int>(elements.size()));
  for (const Element element : elements) field.Add(element);
}

void write_contents(const Tensor& tensor, InferTensorContents& contents) {
  switch (tensor.dtype()) {
    case DType::kBool:
      return append<bool>(tensor, *contents.mutable_bool_contents());
    case DType::kI8:
      return append<std::int8_t>(tensor, *contents.mutable_int_contents());
    case DType::kI16:
      return append<std::int16_t>(tensor, *contents.mutable_int_contents());
    case DType::kI32:
      return append<std::int32_t>(tensor, *contents.mutable_int_contents());
    case DType::kI64:
      return append<std::int64_t>(tensor, *contents.mutable_int64_contents());
    case DType::kU8:
      return append<std::uint8_t>(tensor, *contents.mutable_uint_contents());
    case DType::kF32:
      return append<float>(tensor, *contents.mutable_fp32_contents());
    case DType::kF64:
      return append<double>(tensor, *contents.mutable_fp64_contents());
    case DType::kF16:
    case DType::kBF16:
      break;
  }
  WEFT_CHECK(false, "{} has no numbers", to_string(tensor.dtype()));
}

bool has_numbers(const NamedTensor& output) {
  return output.tensor.dtype() != DType::kF16 &&
         output.tensor.dtype() != DType::kBF16;
}

template <class Message>
void write_ports(const std::vector<Port>& ports, Message& list) {
  for (const Port& port : ports) {
    auto& metadata = *list.Add();
    metadata.set_name(port.name);
    metadata.set_datatype(std::string(protocol_name(port.type.dtype)));
    for (const std::int64_t dim : protocol_shape(port.type.shape)) {
      metadata.add_shape(dim);
    }
  }
}

}  // namespace

InferCall call_of(const ModelInferRequest& request) {
  InferCall call{.model = request.model_name(),
                 .version = request.model_version(),
                 .id = request.id(),
                 .inputs = {}};
  const bool is_raw = request.raw_input_contents_size() > 0;
  if (is_raw && request.raw_input_contents_size() != request.inputs_size()) {
    throw Refusal(Status::kBadRequest, "raw_input_contents",
                  "there are {} for {} inputs",
                  request.raw_input_contents_size(), request.inputs_size());
  }
  const std::size_t most = most_bytes(request);
  for (int i = 0; i < request.inputs_size(); ++i) {
    const auto& input = request.inputs(i);
    const std::string where = fmt::format("inputs[{}]", i);
    const DType dtype = protocol_dtype(input.datatype(), where + ".datatype");
    const std::vector<std::int64_t> dims(input.shape().begin(),
                                         input.shape().end());
    const TensorType type = checked_type(dtype, dims, most, where + ".shape");
    if (is_raw && input.has_contents()) {
      throw Refusal(Status::kBadRequest, where + ".contents",
                    "inputs come as raw_input_contents or as contents, not as "
                    "both");
    }
    call.inputs.push_back(
        {input.name(),
         is_raw ? tensor_of_bytes(type, request.raw_input_contents(i),
                                  fmt::format("raw_input_contents[{}]", i))
                : tensor_of_contents(type, input.contents(),
                                     where + ".contents")});
  }
  for (const auto& output : request.outputs()) {
    call.outputs.push_back(output.name());
  }
  const auto timeout = request.parameters().find("timeout");
  if (timeout != request.parameters().end()) {
    call.timeout = checked_timeout(timeout->second.int64_param());
  }
  return call;
}

void write(const InferAnswer& answer, bool is_raw,
           ModelInferResponse& response) {
  response.set_model_name(answer.model);
  response.set_model_version(answer.version);
  response.set_id(answer.id);
  const bool as_bytes =
      is_raw || !std::ranges::all_of(answer.outputs, has_numbers);
  for (const NamedTensor& output : answer.outputs) {
    auto& written = *response.add_outputs();
    written.set_name(output.name);
    written.set_datatype(std::string(protocol_name(output.tensor.dtype())));
    for (const Dim dim : output.tensor.shape()) written.add_shape(dim);
    if (as_bytes) {
      response.add_raw_output_contents(std::string(bytes_of(output.tensor)));
    } else {
      write_contents(output.tensor, *written.mutable_contents());
    }
  }
}

void write(const ServedModel& model, const std::vector<std::string>& versions,
           inference::ModelMetadataResponse& response) {
  response.set_name(model.name());
  for (const std::string& each : versions) response.add_versions(each);
  response.set_platform(kPlatform);
  write_ports(model.inputs(), *response.mutable_inputs());
  write_ports(model.outputs(), *response.mutable_outputs());
}

grpc::Status grpc_status(Status status, const std::string& message) {
  using grpc::StatusCode;
  static constexpr std::array<StatusCode, kStatusCount> kCodes = {
      StatusCode::OK,
      StatusCode::INVALID_ARGUMENT,
      StatusCode::UNAUTHENTICATED,
      StatusCode::NOT_FOUND,
      StatusCode::UNIMPLEMENTED,
      StatusCode::RESOURCE_EXHAUSTED,
      StatusCode::RESOURCE_EXHAUSTED,
      StatusCode::CANCELLED,
      StatusCode::INTERNAL,
      StatusCode::UNAVAILABLE,
      StatusCode::DEADLINE_EXCEEDED,
  };
  return {kCodes.at(static_cast<std::size_t>(status)), message};
}

}  // namespace weft::serve
