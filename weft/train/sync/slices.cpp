#include "weft/train/sync/slices.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>

#include "weft/base/error.h"

namespace weft {
namespace {

constexpr std::int64_t kCacheLine = 16;  // values

struct Range {
  std::string whole;  // its name
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// What a name such as "fc.weight[0:8]" is a slice of.
std::optional<Range> range_of(const std::string& name) {
  const auto open = name.rfind('[');
  if (open == name.npos || name.back() != ']') return std::nullopt;
  Range range{name.substr(0, open)};
  const char* const end = name.data() + name.size() - 1;
  const auto first = std::from_chars(name.data() + open + 1, end, range.begin);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ':') {
    return std::nullopt;
  }
  const auto last = std::from_chars(first.ptr + 1, end, range.end);
  if (last.ec != std::errc() || last.ptr != end) return std::nullopt;
  return range;
}

// The parameter that "X.NAME" belongs to; the longest name, if several do.
const NamedTensor* parameter_of(const std::string& name,
                                std::span<const NamedTensor> parameters) {
  const NamedTensor* found = nullptr;
  for (const NamedTensor& named : parameters) {
    const bool is_its = name == named.name || name.ends_with("." + named.name);
    if (!is_its) continue;
    if (found == nullptr || named.name.size() > found->name.size()) {
      found = &named;
    }
  }
  return found;
}

// What has as many values as its range says: a counter of a slice is none of
// them.
bool has_values_of(const Tensor& tensor, const Range& range) {
  return tensor.shape().rank() == 1 && tensor.size() == range.end - range.begin;
}

}  // namespace

std::vector<Slice> cut_into_slices(std::span<const NamedTensor> parameters,
                                   std::int64_t most_bytes) {
  const std::int64_t most =
      std::max(most_bytes / static_cast<std::int64_t>(sizeof(float)) /
                   kCacheLine * kCacheLine,
               kCacheLine);
  std::vector<Slice> slices;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const NamedTensor& named = parameters[i];
    const std::int64_t size = named.tensor.size();
    if (most_bytes == 0 || size <= most) {
      slices.push_back({i, 0, named});
      continue;
    }
    const Tensor row = named.tensor.reshape({size});
    for (std::int64_t begin = (size - 1) / most * most; begin >= 0;
         begin -= most) {
      const std::int64_t end = std::min(begin + most, size);
      slices.push_back({i,
                        begin,
                        {fmt::format("{}[{}:{}]", named.name, begin, end),
                         row.slice(begin, end)}});
    }
  }
  return slices;
}

std::vector<NamedTensor> join_slices(std::vector<NamedTensor> tensors,
                                     std::span<const NamedTensor> parameters) {
  std::vector<NamedTensor> joined;
  std::map<std::string, Tensor> whole;
  for (NamedTensor& named : tensors) {
    const auto range = range_of(named.name);
    const NamedTensor* parameter = range && has_values_of(named.tensor, *range)
                                       ? parameter_of(range->whole, parameters)
                                       : nullptr;
    if (parameter == nullptr) {
      joined.push_back(std::move(named));
      continue;
    }
    auto [place, is_new] = whole.try_emplace(range->whole);
    if (is_new) {
      place->second =
          Tensor::zeros({named.tensor.dtype(), parameter->tensor.shape()});
      joined.push_back({range->whole, place->second});
    }
    const auto size =
        named.tensor.bytes() / static_cast<std::size_t>(named.tensor.size());
    std::memcpy(static_cast<std::byte*>(place->second.raw()) +
                    size * static_cast<std::size_t>(range->begin),
                named.tensor.raw(), named.tensor.bytes());
  }
  return joined;
}

Tensor read_slice(const std::string& name,
                  const std::function<Tensor(const std::string&)>& read) {
  Tensor own = read(name);
  if (own.is_defined()) return own;
  const auto range = range_of(name);
  if (!range) return own;
  const Tensor whole = read(range->whole);
  if (!whole.is_defined() || whole.size() < range->end) return own;
  return whole.reshape({whole.size()}).slice(range->begin, range->end).clone();
}

}  // namespace weft
