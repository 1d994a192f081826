#include "weft/place/device.h"

#include <algorithm>
#include <fmt/ranges.h>

#include "weft/base/error.h"

namespace weft {
namespace {

// A scope is one thread's, as contexts and tapes are.
thread_local std::size_t current = 0;

std::size_t find(std::string_view name) {
  const auto& all = devices();
  const auto found = std::find(all.begin(), all.end(), name);
  if (found == all.end()) {
    throw Error(ErrorCode::kInvalidArgument, "device", "there is no '{}'", name)
        .detail(fmt::format("devices: {}", fmt::join(all, ", ")));
  }
  return static_cast<std::size_t>(found - all.begin());
}

}  // namespace

const std::vector<std::string>& devices() {
  static const std::vector<std::string> all{"cpu:0"};
  return all;
}

std::size_t current_device() { return current; }

DeviceScope::DeviceScope(std::string_view name) : outer_(current) {
  current = find(name);
}

DeviceScope::~DeviceScope() { current = outer_; }

}  // namespace weft
