// What weft train prints beside its progress.
#pragma once

#include <string>

#include "weft/train/memory_forecast.h"
#include "weft/train/traffic_forecast.h"
#include "weft/train/trainer.h"

namespace weft::cli {

// The best epoch, and what the network or a simulated cluster did.
void print_result(const TrainResult& result);
// What a run of the recipe `name` would take of memory.
void print_forecast(const MemoryForecast& forecast,
                    const std::optional<TrafficForecast>& traffic,
                    const std::string& name, bool as_json);
// Where a run's time went, by `file` in its folder: for TensorBoard, where the
// recipe writes for it, and printed.
void tell_profile(const Recipe& recipe, const std::string& file,
                  bool is_printed);
// The command to type now.
std::string next_command(const Recipe& recipe, const TrainResult& result);

}  // namespace weft::cli
