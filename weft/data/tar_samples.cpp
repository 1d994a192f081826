#include "weft/data/tar_samples.h"

#include <algorithm>
#include <charconv>

#include "weft/base/error.h"
#include "weft/base/wildcard.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostShards = 1'000'000;

// Not std::tolower, which would go by the locale.
std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return result;
}

Error no_range(std::string_view pattern) {
  return Error(ErrorCode::kInvalidArgument, "data",
               "'{}' has no range of shards", pattern)
      .hint("write it as shard-{000..012}.tar");
}

std::uint64_t number_of(std::string_view text, std::string_view pattern) {
  std::uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw no_range(pattern);
  }
  return number;
}

// The names that a pattern with a range is short for.
std::vector<std::string> names_in_range(std::string_view pattern) {
  const std::size_t open = pattern.find('{');
  const std::size_t dots = pattern.find("..", open);
  const std::size_t close = pattern.find('}', open);
  if (dots == pattern.npos || close == pattern.npos || dots > close) {
    throw no_range(pattern);
  }
  const std::string_view first = pattern.substr(open + 1, dots - open - 1);
  const std::string_view last = pattern.substr(dots + 2, close - dots - 2);
  const std::uint64_t begin = number_of(first, pattern);
  const std::uint64_t end = number_of(last, pattern);
  if (begin > end || end - begin >= kMostShards) throw no_range(pattern);
  std::vector<std::string> names;
  for (std::uint64_t i = begin; i <= end; ++i) {
    // Numbers have as many digits as the first one.
    names.push_back(fmt::format("{}{:0>{}}{}", pattern.substr(0, open), i,
                                first.size(), pattern.substr(close + 1)));
  }
  return names;
}

}  // namespace

const TarSample::Part* TarSample::find(std::string_view kind) const {
  const auto found = std::ranges::find(parts, kind, &Part::kind);
  return found == parts.end() ? nullptr : &*found;
}

std::vector<TarSample> read_samples(ByteSpan archive, std::string_view where) {
  std::vector<TarSample> samples;
  for (const TarMember& member : read_tar(archive, where)) {
    const std::size_t slash = member.name.rfind('/');
    const std::size_t base = slash == member.name.npos ? 0 : slash + 1;
    const std::size_t dot = member.name.find('.', base);
    if (dot == member.name.npos || dot == base) {
      throw Error(ErrorCode::kDataLoss, where,
                  "the file '{}' has no name and kind, as 0001.jpg has",
                  member.name.substr(0, 80));
    }
    const std::string_view name = std::string_view(member.name).substr(0, dot);
    const std::string kind = lower(member.name.substr(dot + 1));
    if (samples.empty() || samples.back().name != name) {
      samples.push_back({std::string(name), {}});
    }
    TarSample& sample = samples.back();
    if (sample.find(kind) != nullptr) {
      throw Error(ErrorCode::kDataLoss, where, "the sample '{}' has two .{}",
                  sample.name, kind);
    }
    sample.parts.push_back({kind, member.bytes});
  }
  return samples;
}

std::vector<fs::path> shards_of(const fs::path& folder,
                                std::string_view pattern) {
  std::vector<fs::path> shards;
  std::error_code ignored;
  if (pattern.find('{') != pattern.npos) {
    for (const std::string& name : names_in_range(pattern)) {
      shards.push_back(folder / name);
      if (fs::is_regular_file(shards.back(), ignored)) continue;
      throw Error(ErrorCode::kUnavailable, shards.back().string(),
                  "this shard is not there");
    }
    return shards;
  }
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.is_regular_file(ignored) &&
        matches_wildcard(pattern, entry.path().filename().string())) {
      shards.push_back(entry.path());
    }
  }
  // A folder lists its entries in any order.
  std::ranges::sort(shards);
  return shards;
}

}  // namespace weft
