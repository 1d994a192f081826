// Where ops run. There is one device now; graphs are traced per device.
//
// Threads: the current device is per thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

// The names of all devices: "cpu:0", ….
const std::vector<std::string>& devices();

// The position in devices() of the innermost scope's; the first by default.
std::size_t current_device();

// Makes `name` this thread's device while it lives. Throws
// Error(kInvalidArgument) that lists the devices for one that is not there.
class DeviceScope {
 public:
  explicit DeviceScope(std::string_view name);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  std::size_t outer_;
};

}  // namespace weft
