#include "weft/files/exported_format.h"

#include "weft/base/checksum.h"
#include "weft/files/exported.h"

namespace weft {
namespace {

constexpr std::string_view kGraphKey = "weft.graph";
constexpr std::string_view kFunctionKey = "weft.function";

std::string key(std::string_view first, std::string_view name) {
  return name == kMainFunction ? std::string(first)
                               : fmt::format("{}.{}", first, name);
}

ByteSpan bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

std::string graph_key(std::string_view name) { return key(kGraphKey, name); }
std::string function_key(std::string_view name) {
  return key(kFunctionKey, name);
}

std::vector<std::string> function_names(const TextMetadata& metadata) {
  std::vector<std::string> names{kMainFunction};
  const std::string before = std::string(kGraphKey) + ".";
  for (const auto& [name, text] : metadata) {
    if (name.starts_with(before)) names.push_back(name.substr(before.size()));
  }
  return names;
}

void FileChecksum::add_part(std::string_view kind, std::string_view name,
                            ByteSpan bytes) {
  // The name is summed with the bytes, so that two tensors that changed places
  // show.
  const std::string part = fmt::format("{}\n{}\n{:016x}{:016x}", kind, name,
                                       bytes.size(), checksum(bytes));
  sum_ += checksum(bytes_of(part));
}

void FileChecksum::add(std::string_view name, const TensorType& type,
                       ByteSpan bytes) {
  add_part(to_string(type), name, bytes);
}

void FileChecksum::add(const TextMetadata& metadata) {
  for (const auto& [name, text] : metadata) {
    if (name != kChecksumKey) add_part("text", name, bytes_of(text));
  }
}

std::string FileChecksum::text() const { return fmt::format("{:016x}", sum_); }

}  // namespace weft
