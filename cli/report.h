// The JSON that verbs print at the end.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "weft/train/trainer.h"

namespace weft::cli {

using Json = nlohmann::ordered_json;

// A number, or null for NaN and infinity, which JSON has not.
Json number(double value);

// recipe, steps, epochs, seconds, train_loss, test_METRIC for each metric of
// the task, samples_per_s, peak_rss_bytes, checkpoint, best_epoch, workers;
// with several workers also what the first one's network did per step; of a
// simulated cluster also simulated, seconds_here, computing_seconds.
Json report_of(const std::string& recipe, const TrainResult& result);

// One object on one line of standard output.
void print_json(const Json& json);

}  // namespace weft::cli
