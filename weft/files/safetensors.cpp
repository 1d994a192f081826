#include "weft/files/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "weft/base/utf8.h"

namespace weft {
namespace {

// Keys stay in the order of the data.
using Json = nlohmann::ordered_json;

std::string_view dtype_name(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return "F64";
    case DType::kF32:
      return "F32";
    case DType::kF16:
      return "F16";
    case DType::kBF16:
      return "BF16";
    case DType::kI64:
      return "I64";
    case DType::kI32:
      return "I32";
    case DType::kI16:
      return "I16";
    case DType::kI8:
      return "I8";
    case DType::kU8:
      return "U8";
    case DType::kBool:
      return "BOOL";
  }
  return "?";
}

// Widest dtype first: each tensor then begins at a multiple of its element
// without padding, which the format does not allow. Within a dtype by name, so
// that equal tensors make equal files.
std::vector<std::size_t> order_of(std::span<const NamedTensor> tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const std::size_t wide_a = size_of(tensors[a].tensor.dtype());
    const std::size_t wide_b = size_of(tensors[b].tensor.dtype());
    return wide_a != wide_b ? wide_a > wide_b
                            : tensors[a].name < tensors[b].name;
  });
  return order;
}

void check_names(std::span<const NamedTensor> tensors) {
  // The key of the metadata stands among the names of tensors, so none may have
  // it.
  std::set<std::string_view> names{"__metadata__"};
  for (const auto& [name, tensor] : tensors) {
    if (!names.insert(name).second) {
      throw Error(ErrorCode::kInvalidArgument, "safetensors",
                  "the name '{}' cannot be used, or is used twice", name);
    }
    // Readers would find another name, or two of one.
    if (!is_utf8(name)) {
      throw Error(ErrorCode::kInvalidArgument, "safetensors",
                  "the name '{}' is no UTF-8", name);
    }
    WEFT_CHECK(tensor.is_defined(), "tensor '{}' holds nothing", name);
  }
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : path_(path),
      map_(std::make_shared<const MappedFile>(path)),
      header_(parse_safetensors(map_->bytes(), path.string())) {}

ByteSpan SafetensorsFile::bytes_of(const SafetensorsEntry& entry) const {
  const std::size_t begin = header_.data_begin + entry.begin;
  // The header was accepted only with all of its offsets inside of the file.
  const ByteSpan data = map_->bytes().subspan(begin, entry.type.bytes());
  // A bool of another value than 0 or 1 is undefined in C++.
  if (entry.type.dtype == DType::kBool) {
    const auto wrong = std::find_if(data.begin(), data.end(),
                                    [](std::uint8_t byte) { return byte > 1; });
    if (wrong != data.end()) {
      throw Error(ErrorCode::kDataLoss, path_.string(),
                  "byte {}: '{}': {} is no boolean",
                  begin + static_cast<std::size_t>(wrong - data.begin()),
                  entry.name, *wrong);
    }
  }
  return data;
}

Tensor SafetensorsFile::read(const SafetensorsEntry& entry) const {
  Tensor result = Tensor::empty(entry.type);
  const ByteSpan data = bytes_of(entry);
  // The bytes are copied, since whoever reads may write into the tensor.
  if (!data.empty()) std::memcpy(result.raw(), data.data(), data.size());
  return result;
}

Tensor SafetensorsFile::map(const SafetensorsEntry& entry) const {
  const ByteSpan data = bytes_of(entry);
  const auto address = reinterpret_cast<std::uintptr_t>(data.data());
  if (data.empty() || address % size_of(entry.type.dtype) != 0) {
    return read(entry);
  }
  using Owner = std::shared_ptr<const MappedFile>;
  return Tensor::wrap(entry.type, const_cast<std::uint8_t*>(data.data()),
                      new Owner(map_),
                      [](void* owner) { delete static_cast<Owner*>(owner); });
}

Tensor SafetensorsFile::read(std::string_view name) const {
  if (const SafetensorsEntry* entry = find(name)) return read(*entry);
  std::vector<std::string> known;
  for (const auto& entry : entries()) known.push_back(entry.name);
  const std::string near = nearest(name, known);
  throw Error(ErrorCode::kInvalidArgument, path_.string(), "no tensor '{}'{}",
              name,
              near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near));
}

void write_safetensors(const std::filesystem::path& path,
                       std::span<const NamedTensor> tensors,
                       const TextMetadata& metadata) {
  check_names(tensors);
  const std::vector<std::size_t> order = order_of(tensors);
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::size_t offset = 0;
  for (const std::size_t index : order) {
    const auto& [name, tensor] = tensors[index];
    const std::size_t end = offset + tensor.bytes();
    const auto dims = tensor.shape().dims();
    header[name] = {{"dtype", dtype_name(tensor.dtype())},
                    {"shape", std::vector<Dim>(dims.begin(), dims.end())},
                    {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text =
      // Metadata may hold bytes that are no UTF-8, for which nlohmann would
      // throw.
      header.dump(-1, ' ', false, Json::error_handler_t::replace);
  // Blanks up to the alignment of the widest element.
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::array<std::uint8_t, 8> length{};
  for (std::size_t i = 0; i < length.size(); ++i) {
    length[i] = static_cast<std::uint8_t>(text.size() >> (8 * i));
  }

  // Who reads `path` sees the old file or the new one, and never a part.
  AtomicFile file(path);
  file.write(length.data(), length.size());
  file.write(text);
  for (const std::size_t index : order) {
    const Tensor& tensor = tensors[index].tensor;
    // Memory is little-endian as the format is: parse_safetensors() asserts it.
    file.write(tensor.raw(), tensor.bytes());
  }
  file.commit();
}

}  // namespace weft
