#include "cli/train_report.h"

#include <fmt/core.h>

#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/text_table.h"

#include "weft/base/cpu.h"
#include "weft/runtime/profile_totals.h"
#include "weft/runtime/trace_file.h"
#include "weft/train/tensorboard/xspace.h"

namespace weft::cli {
namespace {

void print_summary(const TrainResult& result) {
  std::string predicted;
  for (const PredictionScore& score : result.predicted) {
    predicted += "   " + metric_text(score.metric, result.test);
  }
  fmt::print("best {} at epoch {}{}   checkpoint {}   {:.1f} s\n",
             metric_text(result.deciding, result.test), result.best_epoch,
             predicted, result.checkpoint.string(), result.seconds);
}

// What the network of the first worker did in a mean step.
void print_traffic(const StepTraffic& t) {
  // Where nothing was sent, nothing was waited for.
  const double hidden =
      t.wire_seconds > 0 ? 100 * t.hidden_seconds / t.wire_seconds : 100;
  fmt::print(
      "a step: {:.1f} ms, {} sent, {} received, {:.1f} ms on the wire, {:.0f} "
      "% "
      "of it hidden behind computing\n",
      1e3 * t.seconds, bytes_text(t.bytes_sent), bytes_text(t.bytes_received),
      1e3 * t.wire_seconds, hidden);
}

void print_simulated(const TrainResult& result) {
  const SimulatedTime& time = *result.simulated;
  fmt::print(
      "simulated: {} workers, {:.4g} s on their clock, {:.4g} s of it "
      "computing{}; {:.1f} s here\n",
      result.workers, result.seconds, time.computing_seconds,
      time.price.empty() ? "" : " (a step: " + time.price + ")",
      time.seconds_here);
}

Json traffic_json(const TrafficForecast& forecast) {
  Json ranks = Json::array();
  for (const RankTraffic& rank : forecast.ranks) {
    ranks.push_back({{"bytes_sent", rank.bytes_sent},
                     {"bytes_received", rank.bytes_received}});
  }
  return {{"sync", forecast.sync},
          {"steps", forecast.steps},
          {"ranks", std::move(ranks)}};
}

void print_forecast_traffic(const TrafficForecast& forecast) {
  std::vector<std::vector<std::string>> rows = {
      {"traffic of a step", "sent", "received"}};
  for (std::size_t rank = 0; rank < forecast.ranks.size(); ++rank) {
    rows.push_back({fmt::format("rank {}", rank),
                    bytes_text(forecast.ranks[rank].bytes_sent),
                    bytes_text(forecast.ranks[rank].bytes_received)});
  }
  fmt::print("{}the mean of {} steps, rehearsed by {}\n",
             text_table(rows, "<>>"), forecast.steps, forecast.sync);
}

}  // namespace

void print_result(const TrainResult& result) {
  print_summary(result);
  if (result.traffic) print_traffic(*result.traffic);
  if (result.simulated) print_simulated(result);
}

void print_forecast(const MemoryForecast& forecast,
                    const std::optional<TrafficForecast>& traffic,
                    const std::string& name, bool as_json) {
  const auto free = static_cast<double>(free_memory_bytes());
  const std::vector<std::pair<std::string, double>> parts = {
      {"program", forecast.program},
      {"data", forecast.data},
      {"parameters", forecast.parameters},
      {"optimizer state", forecast.optimizer_state},
      {"plans", forecast.planning},
      {"training step", forecast.train_step},
      {"shown gradients", forecast.gradients},
      {"evaluation", forecast.evaluation},
      {"batches", forecast.batches},
      {"network", forecast.network},
      {"in all", forecast.total()}};
  if (as_json) {
    Json json{{"recipe", name},
              {"batch", forecast.batch},
              {"workers", forecast.workers},
              {"free_bytes", free},
              {"is_open", forecast.is_open},
              {"one_by_one", forecast.one_by_one}};
    for (const auto& [part, bytes] : parts) json["bytes"][part] = bytes;
    if (traffic) json["traffic"] = traffic_json(*traffic);
    return print_json(json);
  }
  std::vector<std::vector<std::string>> rows = {
      {fmt::format("memory of {}", name), ""}};
  for (const auto& [part, bytes] : parts) {
    rows.push_back({part, bytes_text(bytes)});
  }
  fmt::print("{}batch {}, {} {} in this process; {} are free\n",
             text_table(rows, "<>"), forecast.batch, forecast.workers,
             forecast.workers == 1 ? "worker" : "workers", bytes_text(free));
  if (forecast.is_open) {
    fmt::print(
        "the model branches or calls itself: what its steps take depends "
        "on the data, and is not counted\n");
  }
  if (forecast.one_by_one > 0) {
    fmt::print(
        "privacy.per_example = \"one by one\": a step takes as long as {} "
        "steps on one example\n",
        forecast.one_by_one);
  }
  if (traffic) print_forecast_traffic(*traffic);
}

void tell_profile(const Recipe& recipe, const std::string& file,
                  bool is_printed) {
  const std::filesystem::path run = recipe.log.folder;
  const auto events = read_trace(run / file);
  if (is_printed) {
    fmt::print("{}the picture: {}, in ui.perfetto.dev\n",
               profile_text(totals_of(events), machine_roof()),
               (run / file).string());
  }
  const auto& board =
      option<std::string>(recipe.more.at("tensorboard"), "folder");
  if (board.empty()) return;
  write_profile(run / board, run.filename().string(), events);
}

std::string next_command(const Recipe& recipe, const TrainResult& result) {
  const std::string checkpoint = shell_word(result.checkpoint.string());
  if (recipe.data.name == "digits") {
    return fmt::format("weft predict {} data/digits/sample.png", checkpoint);
  }
  return fmt::format("weft eval {}", checkpoint);
}

}  // namespace weft::cli
