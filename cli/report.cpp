#include "cli/report.h"

#include <cmath>
#include <fmt/core.h>

#include "weft/base/cpu.h"

namespace weft::cli {

Json number(double value) {
  // JSON has neither NaN nor infinity.
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json report_of(const std::string& recipe, const TrainResult& result) {
  Json report{{"recipe", recipe},
              {"steps", result.steps},
              {"epochs", result.epochs},
              {"seconds", number(result.seconds)},
              {"train_loss", number(result.train_loss)}};
  for (const auto& [name, value] : result.test.all()) {
    report["test_" + name] = number(value);
  }
  report["samples_per_s"] = number(result.samples_per_s);
  report["peak_rss_bytes"] = peak_memory_bytes();
  report["checkpoint"] = result.checkpoint.string();
  report["best_epoch"] = result.best_epoch;
  report["workers"] = result.workers;
  // A worker that is alone has no traffic, and these keys are absent rather
  // than 0.
  if (result.traffic) {
    report["bytes_sent_per_step"] = number(result.traffic->bytes_sent);
    report["bytes_received_per_step"] = number(result.traffic->bytes_received);
    report["step_seconds"] = number(result.traffic->seconds);
    report["wire_seconds"] = number(result.traffic->wire_seconds);
    report["hidden_seconds"] = number(result.traffic->hidden_seconds);
  }
  if (result.simulated) {
    report["simulated"] = true;
    report["seconds_here"] = number(result.simulated->seconds_here);
    report["computing_seconds"] = number(result.simulated->computing_seconds);
  }
  return report;
}

void print_json(const Json& json) {
  // File names need not be UTF-8, but JSON is.
  fmt::print("{}\n", json.dump(-1, ' ', false,
                               nlohmann::json::error_handler_t::replace));
}

}  // namespace weft::cli
