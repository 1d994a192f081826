#include "weft/train/traffic_log.h"

#include <cmath>
#include <fmt/core.h>
#include <string_view>

#include "weft/base/error.h"

namespace weft {

void TrafficMean::add(const StepTraffic& step) {
  sum_.bytes_sent += step.bytes_sent;
  sum_.bytes_received += step.bytes_received;
  sum_.wire_seconds += step.wire_seconds;
  sum_.hidden_seconds += step.hidden_seconds;
  sum_.seconds += step.seconds;
  ++steps_;
}

StepTraffic TrafficMean::mean() const {
  if (steps_ == 0) return {};
  // Density, xi, drift and figures belong to single steps, and a mean leaves
  // them out.
  return {.bytes_sent = sum_.bytes_sent / steps_,
          .bytes_received = sum_.bytes_received / steps_,
          .wire_seconds = sum_.wire_seconds / steps_,
          .hidden_seconds = sum_.hidden_seconds / steps_,
          .seconds = sum_.seconds / steps_};
}

TrafficLog::TrafficLog(const std::filesystem::path& folder,
                       std::int64_t steps_done) {
  const auto path = folder / "traffic.jsonl";
  // A resumed run appends. The steps that the killed one did after its
  // checkpoint then stand in the file twice.
  file_.open(path, steps_done > 0 ? std::ios::app : std::ios::trunc);
  if (!file_) {
    throw Error(ErrorCode::kUnavailable, path.string(), "cannot be written");
  }
}

void TrafficLog::add(std::int64_t step, const StepTraffic& traffic) {
  file_ << fmt::format(
      R"({{"step": {}, "bytes_sent": {}, "bytes_received": {}, )"
      R"("seconds": {:.6f}, "wire_seconds": {:.6f}, )"
      R"("hidden_seconds": {:.6f})",
      step, traffic.bytes_sent, traffic.bytes_received, traffic.seconds,
      traffic.wire_seconds, traffic.hidden_seconds);
  const auto write = [&](std::string_view name, double value) {
    if (std::isfinite(value)) {
      file_ << fmt::format(", \"{}\": {:.6g}", name, value);
    }
  };
  write("efficiency", traffic.efficiency);
  write("density", traffic.density);
  write("xi", traffic.xi);
  write("drift", traffic.drift);
  for (const auto& [name, value] : traffic.figures) write(name, value);
  file_ << "}\n";
  // A run that is killed leaves whole lines, up to its last step.
  file_.flush();
}

}  // namespace weft
