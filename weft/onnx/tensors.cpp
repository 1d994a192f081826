#include "weft/onnx/tensors.h"

#include <algorithm>
#include <charconv>

#include "weft/tensor/symbol.h"

namespace weft::onnx {
namespace {

namespace fs = std::filesystem;

Error damaged(const TensorProto& tensor, std::string_view where,
              std::string_view what) {
  return {ErrorCode::kDataLoss, where, "damaged ONNX model: tensor '{}' {}",
          tensor.name, what};
}

std::size_t number_of(const TensorProto& tensor, std::string_view where,
                      std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw damaged(tensor, where, "has no number as its place or length");
  }
  return number;
}

// A model comes from anywhere: its data may not be a file of somebody else's,
// be it by a path or by a link.
fs::path path_within(const fs::path& folder, const TensorProto& tensor,
                     std::string_view location, std::string_view where) {
  const fs::path name(location);
  const bool leads_out =
      name.empty() || name.is_absolute() ||
      std::ranges::any_of(name, [](const fs::path& p) { return p == ".."; });
  if (leads_out) {
    throw damaged(
        tensor, where,
        fmt::format("lies in '{}', outside of the model's folder", location));
  }
  fs::path path = folder / name;
  // What is not there leads nowhere; whoever opens it says so.
  const fs::path real = fs::weakly_canonical(path);
  const fs::path root = fs::weakly_canonical(folder.empty() ? "." : folder);
  const auto [in_root, in_real] =
      std::mismatch(root.begin(), root.end(), real.begin(), real.end());
  if (in_root != root.end()) {
    throw damaged(tensor, where,
                  fmt::format("lies in '{}', which leads out of the model's "
                              "folder",
                              location));
  }
  return path;
}

Shape declared_shape(const TensorProto& proto, std::string_view where) {
  Shape shape;
  for (const std::int64_t dim : proto.dims) {
    if (dim < 0) throw damaged(proto, where, "has a negative dim");
    shape.push_back(dim);
  }
  return shape;
}

// Numbers as the list has them; bits of halves are in integers.
template <class T, class U>
void fill(const TensorProto& proto, std::string_view where,
          const std::vector<U>& numbers, Tensor& tensor) {
  if (static_cast<std::int64_t>(numbers.size()) != tensor.size()) {
    throw damaged(proto, where,
                  fmt::format("has {} numbers for {}", numbers.size(),
                              to_string(tensor.shape())));
  }
  T* to = static_cast<T*>(tensor.raw());
  std::ranges::transform(numbers, to,
                         [](U number) { return static_cast<T>(number); });
}

void fill_from_lists(const TensorProto& proto, std::string_view where,
                     Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kF32:
      return fill<float>(proto, where, proto.floats, tensor);
    case DType::kF64:
      return fill<double>(proto, where, proto.doubles, tensor);
    case DType::kI64:
      return fill<std::int64_t>(proto, where, proto.int64s, tensor);
    case DType::kI32:
      return fill<std::int32_t>(proto, where, proto.int32s, tensor);
    case DType::kF16:
    case DType::kBF16:
    case DType::kI16:
      return fill<std::uint16_t>(proto, where, proto.int32s, tensor);
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      return fill<std::uint8_t>(proto, where, proto.int32s, tensor);
  }
}

}  // namespace

ByteSpan ExternalFiles::bytes_of(const TensorProto& tensor,
                                 std::string_view where) {
  std::string_view location;
  std::size_t offset = 0;
  std::optional<std::size_t> length;
  for (const auto& [key, value] : tensor.external) {
    if (key == "location") location = value;
    if (key == "offset") offset = number_of(tensor, where, value);
    if (key == "length") length = number_of(tensor, where, value);
  }
  const fs::path path = path_within(folder_, tensor, location, where);
  auto found = files_.find(path.string());
  if (found == files_.end()) {
    found = files_.emplace(path.string(), MappedFile(path)).first;
  }
  const ByteSpan all = found->second.bytes();
  if (offset > all.size() || length.value_or(0) > all.size() - offset) {
    throw damaged(tensor, where,
                  fmt::format("lies beyond the end of '{}'", location));
  }
  return all.subspan(offset, length.value_or(all.size() - offset));
}

Tensor to_tensor(const TensorProto& proto, ExternalFiles& files,
                 std::string_view where) {
  const std::optional<DType> dtype = dtype_of(proto.type);
  if (!dtype) {
    throw Error(ErrorCode::kUnsupported, where,
                "tensor '{}' is of {}, which Weft has not", proto.name,
                name_of(proto.type));
  }
  const TensorType type{*dtype, declared_shape(proto, where)};
  if (!is_addressable(type)) {
    throw damaged(proto, where, "is larger than any memory");
  }
  std::optional<ByteSpan> raw = proto.raw;
  if (proto.is_external) raw = files.bytes_of(proto, where);
  // Sizes are compared before memory is taken: a few bytes must not ask for
  // gigabytes.
  const std::size_t lists = proto.floats.size() + proto.doubles.size() +
                            proto.int32s.size() + proto.int64s.size();
  const std::size_t there = raw ? raw->size() / size_of(*dtype) : lists;
  const auto count = static_cast<std::size_t>(type.shape.num_elements());
  if (there != count || (raw && raw->size() != type.bytes())) {
    throw damaged(
        proto, where,
        fmt::format("has {} elements for {}", there, to_string(type.shape)));
  }
  Tensor tensor = Tensor::empty(type);
  if (!raw) {
    fill_from_lists(proto, where, tensor);
  } else if (!raw->empty()) {
    std::memcpy(tensor.raw(), raw->data(), raw->size());
  }
  if (*dtype == DType::kBool) {
    const auto* bytes = static_cast<const std::uint8_t*>(tensor.raw());
    if (std::any_of(bytes, bytes + tensor.size(),
                    [](std::uint8_t byte) { return byte > 1; })) {
      throw damaged(proto, where, "has a bool that is neither 0 nor 1");
    }
  }
  return tensor;
}

}  // namespace weft::onnx
