// What a step of a model of the zoo reads and gives, and when: measured once
// here, to be played on simulated networks.
#pragma once

#include <vector>

#include "bench/worker/options.h"

#include "weft/place/transfer_order.h"

namespace weft::bench {

struct StepEvent {
  double seconds = 0;  // of computing before it
  bool is_gradient = false;
  std::size_t parameter = 0;  // that is about to be read, or whose gradient is
};

struct StepTrace {
  std::vector<double> bytes;  // of each parameter
  std::vector<StepEvent> events;
  double rest = 0;      // of computing behind the last event
  TransferGraph graph;  // of the same step; transfers take no time yet

  double seconds() const;
  std::vector<std::size_t> first_uses() const;  // by parameter
};

// It is of the options' model, on a batch of `--batch` images of `--side`, or
// sentences of `--side` words. Gradients too, or a forward pass alone.
StepTrace trace_step(const WorkerOptions& options, bool with_gradients);

}  // namespace weft::bench
