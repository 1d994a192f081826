#include "weft/train/metrics_log.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "weft/base/file.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

// What stands before the names of metrics.
constexpr std::string_view kTrain = "train_";
constexpr std::string_view kHeldOut = "test_";

// JSON has no NaN: what was not measured is null.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

// A log of another version may lack a key, which is then not measured.
double read_number(const Json& json, const std::string& key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return kNotMeasured;
  return found->get<double>();
}

bool read_line(const std::string& line, EpochMetrics& epoch) {
  // A log is for people: a line that is damaged is left out, and does not keep
  // a run from going on.
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return false;
  // Numbers of JSON are read as doubles, which are exact up to 2^53.
  const auto integer = [&](const char* key) {
    const double value = read_number(json, key);
    return std::isnan(value) ? 0 : static_cast<std::int64_t>(value);
  };
  epoch.epoch = integer("epoch");
  epoch.step = integer("step");
  epoch.lr = read_number(json, "lr");
  for (const auto& [key, value] : json.items()) {
    if (key.starts_with(kTrain)) {
      epoch.train.set(key.substr(kTrain.size()), read_number(json, key));
    } else if (key.starts_with(kHeldOut)) {
      epoch.held_out.set(key.substr(kHeldOut.size()), read_number(json, key));
    }
  }
  epoch.samples_per_s = read_number(json, "samples_per_s");
  epoch.seconds = read_number(json, "seconds");
  epoch.is_best = json.value("best", false);
  if (json.contains("bytes_sent_per_step")) {
    epoch.traffic = {read_number(json, "bytes_sent_per_step"),
                     read_number(json, "bytes_received_per_step"),
                     read_number(json, "wire_seconds"),
                     read_number(json, "hidden_seconds"),
                     read_number(json, "step_seconds")};
  }
  return epoch.epoch > 0;
}

}  // namespace

std::string to_json(const EpochMetrics& epoch) {
  Json json{
      {"epoch", epoch.epoch}, {"step", epoch.step}, {"lr", number(epoch.lr)}};
  for (const auto& [name, value] : epoch.train.all()) {
    json[std::string(kTrain) + name] = number(value);
  }
  for (const auto& [name, value] : epoch.train.all()) {
    // An epoch that was not measured says so for each metric.
    json[std::string(kHeldOut) + name] = number(epoch.held_out.get(name));
  }
  json["samples_per_s"] = number(epoch.samples_per_s);
  json["seconds"] = number(epoch.seconds);
  json["best"] = epoch.is_best;
  if (epoch.traffic) {
    json["bytes_sent_per_step"] = number(epoch.traffic->bytes_sent);
    json["bytes_received_per_step"] = number(epoch.traffic->bytes_received);
    json["step_seconds"] = number(epoch.traffic->seconds);
    json["wire_seconds"] = number(epoch.traffic->wire_seconds);
    json["hidden_seconds"] = number(epoch.traffic->hidden_seconds);
  }
  return json.dump();
}

std::vector<EpochMetrics> read_metrics(const std::filesystem::path& folder) {
  const auto path = folder / "metrics.jsonl";
  std::vector<EpochMetrics> epochs;
  std::ifstream file(path);
  std::string line;
  // Whoever reads a run asks for all of it, so that a line that is damaged is
  // told and not left out.
  for (int number = 1; std::getline(file, line); ++number) {
    EpochMetrics epoch;
    if (!read_line(line, epoch)) {
      throw Error(ErrorCode::kDataLoss,
                  fmt::format("{}:{}", path.string(), number),
                  "this is no epoch of a run")
          .hint("a run that goes on with --resume leaves the line out");
    }
    epochs.push_back(std::move(epoch));
  }
  return epochs;
}

MetricsLog::MetricsLog(std::filesystem::path folder, std::string title,
                       MetricDef deciding, std::int64_t last_epoch,
                       std::int64_t last_step)
    : folder_(std::move(folder)),
      title_(std::move(title)),
      deciding_(std::move(deciding)) {
  if (last_epoch == 0) {
    // A run that starts from the beginning forgets what an earlier one left in
    // the folder, or its epochs would be taken for this one's.
    std::error_code ignored;  // what cannot be removed cannot be written either
    std::filesystem::remove(folder_ / "metrics.jsonl", ignored);
    std::filesystem::remove(folder_ / "curve.svg", ignored);
    return;
  }
  std::ifstream file(folder_ / "metrics.jsonl");
  std::string line;
  while (std::getline(file, line)) {
    EpochMetrics epoch;
    // What the log has beyond the checkpoint will be measured again: also the
    // rest of an epoch of which a part was measured, where a run had ended.
    if (read_line(line, epoch) && epoch.epoch <= last_epoch &&
        epoch.step <= last_step) {
      epochs_.push_back(epoch);
    }
  }
}

void MetricsLog::add(const EpochMetrics& epoch) {
  epochs_.push_back(epoch);
  std::string lines;
  // The file is replaced as a whole, so that whoever reads it never sees half a
  // line.
  for (const EpochMetrics& each : epochs_) lines += to_json(each) + "\n";
  write_file(folder_ / "metrics.jsonl", lines);
  write_file(folder_ / "curve.svg",
             training_curve_svg(title_, deciding_, epochs_));
}

}  // namespace weft
