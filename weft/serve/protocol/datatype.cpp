#include "weft/serve/protocol/datatype.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "weft/serve/status.h"

namespace weft::serve {
namespace {

struct Name {
  DType dtype;
  std::string_view name;
};

constexpr std::array<Name, 10> kNames = {{{DType::kF32, "FP32"},
                                          {DType::kF64, "FP64"},
                                          {DType::kF16, "FP16"},
                                          {DType::kBF16, "BF16"},
                                          {DType::kI8, "INT8"},
                                          {DType::kU8, "UINT8"},
                                          {DType::kI16, "INT16"},
                                          {DType::kI32, "INT32"},
                                          {DType::kI64, "INT64"},
                                          {DType::kBool, "BOOL"}}};

}  // namespace

std::string_view protocol_name(DType dtype) {
  return std::ranges::find(kNames, dtype, &Name::dtype)->name;
}

DType protocol_dtype(std::string_view name, std::string_view where) {
  const auto found = std::ranges::find(kNames, name, &Name::name);
  if (found != kNames.end()) return found->dtype;
  std::string known;
  for (const Name& each : kNames) {
    known += (known.empty() ? "" : ", ") + std::string(each.name);
  }
  throw Refusal(Status::kBadRequest, where,
                "'{}' is no datatype that can be taken: {}", name, known);
}

TensorType checked_type(DType dtype, std::span<const std::int64_t> dims,
                        std::size_t most_bytes, std::string_view where) {
  if (dims.size() > static_cast<std::size_t>(Shape::kMaxRank)) {
    throw Refusal(Status::kBadRequest, where, "{} dims are more than {}",
                  dims.size(), Shape::kMaxRank);
  }
  TensorType type{dtype, {}};
  std::uint64_t bytes = size_of(dtype);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) {
      throw Refusal(Status::kBadRequest, fmt::format("{}[{}]", where, i),
                    "{} is no size", dims[i]);
    }
    const auto size = static_cast<std::uint64_t>(dims[i]);
    // Products of sizes must not wrap around to small ones.
    if (size > most_bytes || bytes * size > most_bytes) {
      throw Refusal(Status::kTooLarge, where,
                    "a tensor of this shape has more than {} bytes",
                    most_bytes);
    }
    bytes *= size;
    type.shape.push_back(dims[i]);
  }
  return type;
}

Tensor tensor_of_bytes(const TensorType& type, std::string_view bytes,
                       std::string_view where) {
  if (bytes.size() != type.bytes()) {
    throw Refusal(Status::kBadRequest, where,
                  "{} bytes do not fill {}, which takes {}", bytes.size(),
                  to_string(type), type.bytes());
  }
  Tensor tensor = Tensor::empty(type);
  if (!bytes.empty()) std::memcpy(tensor.raw(), bytes.data(), bytes.size());
  if (type.dtype != DType::kBool) return tensor;
  const auto bad = std::ranges::find_if(
      bytes, [](char byte) { return byte > 1 || byte < 0; });
  if (bad != bytes.end()) {
    throw Refusal(Status::kBadRequest,
                  fmt::format("{}[{}]", where, bad - bytes.begin()),
                  "a BOOL is 0 or 1, not {}", static_cast<unsigned char>(*bad));
  }
  return tensor;
}

std::string_view bytes_of(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.raw()), tensor.bytes()};
}

}  // namespace weft::serve
