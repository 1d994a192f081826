// What one worker's network did in a step, or on average.
//
// Threads: a value type.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "weft/train/step/metrics.h"

namespace weft {

// What else there is to tell of a step, by name; kNotMeasured is not told.
using Figures = std::vector<std::pair<std::string, double>>;

struct StepTraffic {
  double bytes_sent = 0;
  double bytes_received = 0;
  double wire_seconds = 0;    // with anything under way
  double hidden_seconds = 0;  // of these, while the worker was computing
  double seconds = 0;         // of the whole step
  // Which part of what overlap could save was saved (place/transfer_order.h).
  double efficiency = kNotMeasured;
  // Where gradients are sparsified, the share of the entries of their sum that
  // are not 0; and in steps that measure them, see sync/drift.h.
  double density = kNotMeasured;
  double xi = kNotMeasured;
  double drift = kNotMeasured;
  Figures figures = {};  // what the policy tells of the step
};

}  // namespace weft
